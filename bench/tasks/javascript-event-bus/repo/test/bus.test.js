const assert = require("assert");
const { Bus } = require("../src");

const bus = new Bus();
const heard = [];
bus.once("save", () => heard.push("first"));
bus.on("save", () => heard.push("second"));
bus.emit("save");
assert.deepStrictEqual(heard, ["first", "second"]);
console.log("ok");
