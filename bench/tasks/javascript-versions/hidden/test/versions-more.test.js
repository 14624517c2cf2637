const assert = require("assert");
const { compare } = require("../src/versions");
const { offer } = require("../src/updater");

const ordered = ["0.9.9", "1.0.0-alpha", "1.0.0-rc.1", "1.0.0", "1.0.2", "1.0.10", "1.2.0", "1.10.0", "10.0.0"];
for (let i = 0; i < ordered.length; i++) {
  for (let k = 0; k < ordered.length; k++) {
    assert.strictEqual(Math.sign(compare(ordered[i], ordered[k])), Math.sign(i - k), `${ordered[i]} ${ordered[k]}`);
  }
}
assert.strictEqual(offer("2.0.0-rc.1", ["2.0.0", "1.99.0"]), "2.0.0");
assert.strictEqual(offer("2.0.0", ["2.0.0-rc.1"]), null);
console.log("ok");
