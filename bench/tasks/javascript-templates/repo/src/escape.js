// Text for a URL.
function escapeUrl(text) {
  return encodeURIComponent(String(text));
}

module.exports = { escapeUrl };
