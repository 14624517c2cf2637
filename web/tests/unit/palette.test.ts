import { expect, it } from "vitest";
import { matching } from "../../src/ui/palette";

const command = (label: string, hint = "") => ({ id: label, label, hint, act: () => undefined });

it("finds what has all the words, what begins with them first", () => {
  const all = [command("Show runs", "Pages"), command("New thread"), command("Runs", "Pages"), command("修复登录")];
  const found = (words: string) => matching(all, words).map(({ label }) => label);
  expect(found("")).toEqual(["Show runs", "New thread", "Runs", "修复登录"]);
  expect(found("RUN")).toEqual(["Runs", "Show runs"]);
  expect(found("pages show")).toEqual(["Show runs"]);
  expect(found("登录")).toEqual(["修复登录"]);
  expect(found("nothing")).toEqual([]);
});
