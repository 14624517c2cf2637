import { expect, test } from "vitest";
import type { Thread } from "../../src/api/contract";
import { readThreads } from "../../src/chat/thread-list";

/** A server with so many threads; the cursor is a position. */
function server(length: number, shift = 0) {
  const asked: [number, string | undefined][] = [];
  const ask = async (limit: number, before?: string) => {
    asked.push([limit, before]);
    // Those that came meanwhile push the others down.
    const from = before === undefined ? 0 : Number(before) - shift;
    const threads = Array.from({ length: Math.min(limit, length - from) }, (_, at) => ({ id: `t-${from + at}` }) as Thread);
    return { threads, next: from + limit < length ? String(from + limit) : null };
  };
  return { ask, asked };
}

test("as many as wanted, in as few requests as the server allows", async () => {
  const { ask, asked } = server(500);
  const found = await readThreads(250, ask);
  expect([found.threads.length, found.next]).toEqual([250, "250"]);
  expect(asked).toEqual([[200, undefined], [50, "200"]]);
});

test("fewer when there are fewer", async () => {
  const found = await readThreads(250, server(30).ask);
  expect([found.threads.length, found.next]).toEqual([30, null]);
});

test("one that comes twice is shown once", async () => {
  const { threads } = await readThreads(300, server(400, 3).ask);
  expect(new Set(threads.map((thread) => thread.id)).size).toBe(threads.length);
});
