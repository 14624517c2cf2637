const assert = require("assert");
const { retry } = require("../src/retry");

(async () => {
  const waits = [];
  const sleep = async (ms) => waits.push(ms);
  const failing = async (attempt) => {
    throw new Error("attempt " + attempt);
  };
  await assert.rejects(retry(failing, { attempts: 4, first: 10, sleep }), /^Error: attempt 4$/);
  assert.deepStrictEqual(waits, [10, 20, 40]);

  waits.length = 0;
  const second = async (attempt) => {
    if (attempt < 2) throw new Error("early");
    return "done";
  };
  assert.strictEqual(await retry(second, { sleep }), "done");
  assert.deepStrictEqual(waits, [100]);

  const nothing = async () => undefined;
  assert.strictEqual(await retry(nothing, { sleep }), undefined);
  console.log("ok");
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
