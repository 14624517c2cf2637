import { describe, expect, it } from "vitest";
import type { Turn } from "../../src/api/contract";
import { joined, since } from "../../src/conversation/turns";

const turn = (number: number, state: Turn["state"] = "completed") => ({ number, state }) as Turn;
const shown = (turns: Turn[]) => turns.map(({ number, state }) => `${number} ${state}`);

describe("turns", () => {
  it("are read from the last known one on", () => {
    expect(since([])).toBe(1);
    expect(since([turn(1), turn(2, "waiting")])).toBe(2);
  });

  it("take the place of what was known from there", () => {
    const known = [turn(1), turn(2, "waiting")];
    expect(shown(joined(known, 2, [turn(2), turn(3)]))).toEqual(["1 completed", "2 completed", "3 completed"]);
    expect(shown(joined(known, 1, [turn(1, "undone")]))).toEqual(["1 undone"]);
    expect(shown(joined([], 1, []))).toEqual([]);
  });
});
