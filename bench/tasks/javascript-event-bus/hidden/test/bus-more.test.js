const assert = require("assert");
const { Bus } = require("../src");

{
  const bus = new Bus();
  const heard = [];
  bus.once("a", (n) => heard.push("x" + n));
  bus.once("a", (n) => heard.push("y" + n));
  bus.on("a", (n) => heard.push("z" + n));
  assert.strictEqual(bus.emit("a", 1), 3);
  assert.strictEqual(bus.emit("a", 2), 1);
  assert.deepStrictEqual(heard, ["x1", "y1", "z1", "z2"]);
}
{
  const bus = new Bus();
  const heard = [];
  const stop = bus.once("a", () => heard.push(1));
  stop();
  assert.strictEqual(bus.emit("a"), 0);
  assert.strictEqual(bus.emit("nothing"), 0);
  assert.deepStrictEqual(heard, []);
}
{
  const bus = new Bus();
  const heard = [];
  bus.on("a", () => {
    heard.push("outer");
    if (heard.length < 2) bus.on("a", () => heard.push("added"));
  });
  bus.emit("a");
  assert.deepStrictEqual(heard, ["outer"], "a listener added meanwhile waits for the next event");
}
console.log("ok");
