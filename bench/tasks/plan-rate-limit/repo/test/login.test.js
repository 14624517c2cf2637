const assert = require("assert");
const { userByName } = require("../src/store");

assert.ok(userByName("ann"));
console.log("ok");
