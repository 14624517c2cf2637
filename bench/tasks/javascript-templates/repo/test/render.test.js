const assert = require("assert");
const { render } = require("../src/render");

assert.strictEqual(render("<b>{{name}}</b>", { name: "Tom & <Jerry>" }), "<b>Tom &amp; &lt;Jerry&gt;</b>");
console.log("ok");
