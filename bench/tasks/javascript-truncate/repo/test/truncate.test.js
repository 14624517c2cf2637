const assert = require("assert");
const { truncate } = require("../src/text");

assert.strictEqual(truncate("hello world", 6), "hello…");
assert.strictEqual(truncate("ab🎉🎉🎉", 4), "ab🎉…");
console.log("ok");
