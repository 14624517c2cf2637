import { describe, expect, it } from "vitest";
import { blocks, definitions, grown, hasNotes, type Block } from "../../src/ui/blocks";

const short = (found: Block[]) => found.map(({ kind, text, info, closed }) => [kind, text.trim(), ...(kind === "fence" ? [info] : []), closed]);

describe("parts of a text", () => {
  it("ends at empty lines, not inside lists and code", () => {
    expect(short(blocks("# A\n\nwords\nmore\n\n- one\n\n- two\n\n  in two\n\nafter\n"))).toEqual([
      ["words", "# A", true],
      ["words", "words\nmore", true],
      ["words", "- one\n\n- two\n\n  in two", true],
      ["words", "after", false],
    ]);
    expect(short(blocks("a\n```rs\nfn x() {}\n\n# no\n```\nb"))).toEqual([
      ["words", "a", true],
      ["fence", "fn x() {}\n\n# no", "rs", true],
      ["words", "b", false],
    ]);
  });

  it("knows a fence that is open, one inside another, and one in a list", () => {
    expect(short(blocks("````md\n```\nx\n```\n"))).toEqual([["fence", "```\nx\n```", "md", false]]);
    expect(short(blocks("```\nx\n``"))).toEqual([["fence", "x\n``", "", false]]);
    expect(short(blocks("- a\n\n  ```\n  x\n\n  y\n  ```\n"))).toEqual([["words", "- a\n\n  ```\n  x\n\n  y\n  ```", false]]);
    expect(short(blocks("``` not `a` fence\n"))).toEqual([["words", "``` not `a` fence", false]]);
  });

  it("is the same piece by piece as at once, and keeps what is closed", () => {
    const text = "# A\n\nwords\n\n```js\nlet a = 1;\n\nb\n```\n\n- x\n\n- y\n\n| a |\n|---|\n| b |\n\nend [l]\n\n[l]: http://x\n";
    for (const step of [1, 2, 3, 7]) {
      let before = { text: "", blocks: [] as Block[] };
      for (let end = step; end < text.length + step; end += step) {
        const now = text.slice(0, end);
        const next = grown(before, now);
        expect(next).toEqual(blocks(now));
        const closed = before.blocks.filter((block) => block.closed);
        closed.forEach((block, at) => expect(next[at]).toBe(block));
        before = { text: now, blocks: next };
      }
    }
    expect(grown({ text: "other", blocks: blocks("other") }, text)).toEqual(blocks(text));
  });

  it("finds what parts need of the whole", () => {
    expect(definitions("a\n[x]: http://y\n[^1]: note\n")).toBe("[x]: http://y");
    expect([hasNotes("a[^1]\n\n[^1]: note"), hasNotes("a[^1]")]).toEqual([true, false]);
  });
});
