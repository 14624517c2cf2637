const assert = require("assert");
const { retry } = require("../src/retry");

(async () => {
  const sleep = async () => {};
  const work = async () => {
    throw new Error("no route");
  };
  await assert.rejects(retry(work, { sleep }), /no route/);
  console.log("ok");
})();
