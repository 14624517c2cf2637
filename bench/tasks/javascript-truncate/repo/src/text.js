// At most `longest` characters; the last one is an ellipsis where something was cut off.
function truncate(text, longest) {
  if (text.length <= longest) return text;
  return text.slice(0, longest - 1) + "…";
}

module.exports = { truncate };
