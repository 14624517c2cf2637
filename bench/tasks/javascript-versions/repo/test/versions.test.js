const assert = require("assert");
const { offer } = require("../src/updater");

assert.strictEqual(offer("1.10.0", ["1.9.0", "1.8.5"]), null);
assert.strictEqual(offer("1.9.0", ["1.9.1", "1.10.0"]), "1.10.0");
console.log("ok");
