const assert = require("assert");
const { render } = require("../src/render");
const { escapeHtml, escapeUrl } = require("../src/escape");

assert.strictEqual(escapeHtml("&lt;"), "&amp;lt;");
assert.match(escapeHtml("\"'"), /^&quot;(&#39;|&#x27;|&apos;)$/);
assert.strictEqual(escapeHtml(42), "42");
assert.strictEqual(escapeHtml("a > b < c"), "a &gt; b &lt; c");
assert.strictEqual(escapeHtml("schön"), "schön");
assert.strictEqual(escapeUrl("a b"), "a%20b");
assert.strictEqual(render("{{a}}|{{url:b}}|{{c}}", { a: 0, b: "x&y" }), "0|x%26y|");
console.log("ok");
