// Text for a URL.
function escapeUrl(text) {
  return encodeURIComponent(String(text));
}

const NAMES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

// Text for a page.
function escapeHtml(text) {
  return String(text).replace(/[&<>"']/g, (character) => NAMES[character]);
}

module.exports = { escapeUrl, escapeHtml };
