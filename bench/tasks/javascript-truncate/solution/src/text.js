// At most `longest` characters; the last one is an ellipsis where something was cut off.
function truncate(text, longest) {
  const characters = [...text];
  if (characters.length <= longest) return text;
  return characters.slice(0, longest - 1).join("") + "…";
}

module.exports = { truncate };
