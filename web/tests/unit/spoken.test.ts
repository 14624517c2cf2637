import { expect, test } from "vitest";
import { spoken } from "../../src/chat/spoken";

test.each([
  ["## What I did\n\n`greet` is **loud** now.", "What I did\ngreet is loud now."],
  ["| file | change |\n|---|---|\n| `a.sh` | shouts |", "file, change\na.sh, shouts"],
  ["```sh\nmake test\n```", "make test"],
  ["- [x] tests pass\n- see [the notes](https://x.invalid/y)", "tests pass\nsee the notes"],
  ["> Nothing is applied.", "Nothing is applied."],
  ["snake_case and 3 > 2 stay", "snake_case and 3 > 2 stay"],
])("%j is said as %j", (markdown, words) => {
  expect(spoken(markdown)).toBe(words);
});
