import { expect, test } from "vitest";
import { repeats } from "../../src/chat/tool-card";

test.each([
  ["", "", true],
  ["ok", "ok\n", true],
  ["exit code 0 ok 1 ok 2", "ok   1\nok   2\n", true],
  ["exit code 1 a long ou…", "a long\noutput of many lines", true],
  ["exit code 0, no output", "", false],
  ["120 lines", "fn main() {}", false],
])("result %j beside output %j repeats it: %j", (result, output, same) => {
  expect(repeats(result, output)).toBe(same);
});
