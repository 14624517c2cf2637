const assert = require("assert");
const { parseQuery } = require("../lib/query");

assert.deepStrictEqual({ ...parseQuery("?q=red+shoes&page=2") }, { q: "red shoes", page: "2" });
assert.deepStrictEqual({ ...parseQuery("tag=a&tag=b") }, { tag: ["a", "b"] });
console.log("ok");
