const assert = require("assert");
const { parseQuery } = require("../lib/query");

const check = (text, expect) => assert.deepStrictEqual({ ...parseQuery(text) }, expect, text);
check("", {});
check("?", {});
check("a=1&a=2&a=3", { a: ["1", "2", "3"] });
check("flag&x=", { flag: "", x: "" });
check("expr=a=b", { expr: "a=b" });
check("a%2Bb=c%20d", { "a+b": "c d" });
check("a=1&&b=2&", { a: "1", b: "2" });
check("my+key=v", { "my key": "v" });
console.log("ok");
