import { describe, expect, it } from "vitest";
import type { Thread } from "../../src/api/contract";
import { tree, versions } from "../../src/conversation/branches";

const thread = (id: string, turns: number, at: number, branch: [string, number] | null = null) =>
  ({ id, turns_count: turns, created_at: `2026-01-0${at}`, updated_at: `2026-01-0${at}`, branch: branch && { thread: branch[0], turn: branch[1] } }) as Thread;
const ways = (family: Thread[], id: string, turn: number) => versions(family, id, turn).map(({ thread, current }) => (current ? `*${thread}` : thread));

describe("branches", () => {
  const root = thread("a", 3, 1);
  const b = thread("b", 4, 2, ["a", 2]);
  const c = thread("c", 2, 3, ["b", 2]);
  const d = thread("d", 5, 4, ["b", 4]);
  const family = [root, b, c, d];

  it("shows the ways in which a message was said", () => {
    expect(ways(family, "a", 1)).toEqual([]);
    expect(ways(family, "a", 2)).toEqual(["*a", "d", "c"]);
    expect(ways(family, "b", 2)).toEqual(["a", "*b", "c"]);
    expect(ways(family, "d", 2)).toEqual(["a", "*d", "c"]);
    expect(ways(family, "d", 4)).toEqual(["b", "*d"]);
    expect(ways(family, "d", 5)).toEqual([]);
    expect(ways(family, "a", 3)).toEqual([]);
    expect(ways([root], "a", 1)).toEqual([]);
    expect(ways(family, "nobody", 1)).toEqual([]);
  });

  it("does not count a branch whose message is not said yet", () => {
    expect(ways([root, thread("e", 1, 5, ["a", 2])], "a", 2)).toEqual([]);
  });

  it("stands without what was deleted, and without an end in circles", () => {
    expect(ways([b, c, d], "d", 2)).toEqual(["*d", "c"]);
    const circle = [thread("x", 2, 1, ["y", 2]), thread("y", 2, 2, ["x", 2])];
    expect(ways(circle, "x", 1).length).toBeLessThanOrEqual(2);
    expect(tree(circle).map((limb) => limb.thread.id).sort()).toEqual(["x", "y"]);
  });

  it("is a tree", () => {
    expect(tree(family).map(({ thread: { id }, depth }) => `${depth}${id}`)).toEqual(["0a", "1b", "2c", "2d"]);
    expect(tree([c, d]).map(({ depth }) => depth)).toEqual([0, 0]);
  });
});
