// Reads the query of a URL, with or without the question mark.
function parseQuery(text) {
  const result = {};
  const decode = (word) => decodeURIComponent(word.replace(/\+/g, " "));
  for (const part of text.replace(/^\?/, "").split("&")) {
    if (!part) continue;
    const at = part.indexOf("=");
    const key = decode(at < 0 ? part : part.slice(0, at));
    const value = at < 0 ? "" : decode(part.slice(at + 1));
    if (!Object.hasOwn(result, key)) result[key] = value;
    else if (Array.isArray(result[key])) result[key].push(value);
    else result[key] = [result[key], value];
  }
  return result;
}

module.exports = { parseQuery };
