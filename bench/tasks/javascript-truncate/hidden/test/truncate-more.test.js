const assert = require("assert");
const { truncate } = require("../src/text");
const { preview } = require("../src/comment");

assert.strictEqual(truncate("🎉🎉🎉", 3), "🎉🎉🎉");
assert.strictEqual(truncate("🎉🎉🎉🎉", 3), "🎉🎉…");
assert.strictEqual(truncate("abc", 3), "abc");
assert.strictEqual(truncate("abcd", 3), "ab…");
assert.strictEqual(truncate("", 3), "");
assert.strictEqual(truncate("𝒜𝒷", 1), "…");
assert.strictEqual(preview({ author: "eve", text: "🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀" }), "eve: 🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀");
console.log("ok");
