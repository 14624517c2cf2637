import { expect, test } from "vitest";
import { readBack, readThread } from "../../src/audit/entries";
import type { AuditEntry, AuditPage } from "../../src/api/contract";

const entry = (seq: number): AuditEntry => ({ seq, at: "", actor: "a", action: "x", thread: "t", turn: 1, detail: {}, prev: "", hash: "" });

/** A log of so many entries, of which `mine` may be seen; counts how often it is asked. */
function log(length: number, mine: (seq: number) => boolean = () => true) {
  const asked: [number, number][] = [];
  const ask = async (after: number, limit: number): Promise<AuditPage> => {
    asked.push([after, limit]);
    const entries = Array.from({ length }, (_, at) => entry(at + 1)).filter((one) => one.seq > after && mine(one.seq)).slice(0, limit);
    return { entries, head: length ? { seq: length, hash: "h" } : null };
  };
  return { ask, asked };
}

const numbers = (entries: AuditEntry[]) => entries.map((one) => one.seq);

test("the latest entries come first, the earlier ones after them, none twice and none left out", async () => {
  const { ask } = log(450);
  const first = await readBack(null, ask);
  expect(numbers(first.entries).slice(0, 2)).toEqual([450, 449]);
  const second = await readBack(first.before, ask);
  const third = await readBack(second.before, ask);
  expect(third.before).toBe(0);
  expect(numbers([...first.entries, ...second.entries, ...third.entries])).toEqual(Array.from({ length: 450 }, (_, at) => 450 - at));
});

test("where the latest are others', it looks further back, and not for ever", async () => {
  const { ask } = log(1000, (seq) => seq <= 300);
  const found = await readBack(null, ask);
  expect(numbers(found.entries)[0]).toBe(300);
  const none = log(100_000, () => false);
  const nothing = await readBack(null, none.ask);
  expect(nothing.entries).toEqual([]);
  expect(none.asked.length).toBeLessThan(30);
});

test("an empty log is empty", async () => {
  expect(await readBack(null, log(0).ask)).toEqual({ entries: [], before: 0 });
});

test("a thread's entries are read to their end", async () => {
  const { ask, asked } = log(2300);
  const found = await readThread("t", ask);
  expect([found.entries.length, found.entries[0]?.seq, found.before]).toEqual([2300, 2300, 0]);
  expect(asked.map(([after]) => after)).toEqual([0, 1000, 2000]);
});
