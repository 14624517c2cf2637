const { escapeHtml, escapeUrl } = require("./escape");

// Fills {{name}} with escaped text, {{url:name}} with text escaped for a URL; unknown names become nothing.
function render(template, values) {
  return template.replace(/\{\{(url:)?(\w+)\}\}/g, (_, url, name) => {
    const value = values[name];
    if (value === undefined || value === null) return "";
    return url ? escapeUrl(value) : escapeHtml(value);
  });
}

module.exports = { render };
