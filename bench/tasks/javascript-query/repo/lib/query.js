// Reads the query of a URL, with or without the question mark.
function parseQuery(text) {
  const result = {};
  for (const part of text.replace(/^\?/, "").split("&")) {
    const [key, value] = part.split("=");
    result[decodeURIComponent(key)] = decodeURIComponent(value);
  }
  return result;
}

module.exports = { parseQuery };
