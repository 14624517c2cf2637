import { afterEach, describe, expect, it, vi } from "vitest";
import { Failure } from "../../src/api/client";
import type { StreamEvent } from "../../src/api/contract";
import { decode, follow, type Start } from "../../src/api/follow";

type Reply = { status?: number; text?: string; broken?: boolean; offline?: boolean };

/** A server that answers with these, one after the other, and remembers what it was asked. */
function serve(replies: Reply[]): { asked: { url: string; method: string }[] } {
  const asked: { url: string; method: string }[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    asked.push({ url, method: init.method ?? "GET" });
    const reply = replies.shift();
    if (!reply) throw new Error("asked too often");
    if (reply.offline) throw new TypeError("failed to fetch");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        if (reply.text) controller.enqueue(new TextEncoder().encode(reply.text));
      },
      pull(controller) {
        if (reply.broken) controller.error(new TypeError("network"));
        else controller.close();
      },
    });
    return new Response(reply.status && reply.status >= 400 ? reply.text : body, { status: reply.status ?? 200 });
  });
  return { asked };
}

const event = (seq: number, text: string) => `id: ${seq}\nevent: message\ndata: ${JSON.stringify({ text })}\n\n`;
const DONE = "event: done\ndata: {}\n\n";
const SAY: Start = { kind: "say", message: "m", files: [], mode: "plan" };

async function run(start: Start, after = 0): Promise<{ texts: string[]; links: string[] }> {
  vi.useFakeTimers();
  const texts: string[] = [];
  const links: string[] = [];
  const onEvent = (one: StreamEvent) => texts.push(one.name === "message" ? one.data.text : one.name);
  const running = follow({ thread: "t 1", after, onEvent, onLink: (link) => links.push(link), signal: new AbortController().signal }, start);
  const settled = running.then(() => null, (error: unknown) => error);
  await vi.runAllTimersAsync();
  const error = await settled;
  if (error) throw error;
  return { texts, links };
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("following a stream", () => {
  it("ends at done", async () => {
    const server = serve([{ text: event(1, "a") + DONE }]);
    expect(await run(SAY)).toEqual({ texts: ["a", "done"], links: ["open"] });
    expect(server.asked).toEqual([{ url: "/api/chat/t%201?live=true", method: "POST" }]);
  });

  it("takes a broken stream up again after the last event, and never says the message twice", async () => {
    const server = serve([
      { text: event(1, "a") + event(2, "b"), broken: true },
      { offline: true },
      { text: event(2, "b") + event(3, "c") },
      { text: event(4, "d") + DONE },
    ]);
    const seen = await run(SAY);
    expect(seen.texts).toEqual(["a", "b", "c", "d", "done"]);
    expect(seen.links).toContain("lost");
    expect(server.asked.map((one) => one.method)).toEqual(["POST", "GET", "GET", "GET"]);
    expect(server.asked.map((one) => one.url.split("after=")[1])).toEqual([undefined, "2", "2", "3"]);
  });

  it("reads what others said meanwhile before its own turn", async () => {
    const server = serve([{ text: event(5, "mine") + DONE }, { text: event(3, "theirs") + event(4, "too") + event(5, "mine") + DONE }]);
    expect((await run(SAY, 2)).texts).toEqual(["theirs", "too", "mine", "done"]);
    expect(server.asked.map((one) => one.method)).toEqual(["POST", "GET"]);
  });

  it("does not repeat what is known already", async () => {
    serve([{ text: event(4, "old") + event(5, "new") + DONE }]);
    expect((await run({ kind: "attach" }, 4)).texts).toEqual(["new", "done"]);
  });

  it("gives a message that was never taken back to its sender", async () => {
    serve([{ offline: true }]);
    await expect(run(SAY)).rejects.toMatchObject({ code: "offline" });
  });

  it("passes a refusal on with the server's words", async () => {
    serve([{ status: 409, text: JSON.stringify({ code: "turn_running", message: "busy" }) }]);
    await expect(run(SAY)).rejects.toSatisfy((error) => error instanceof Failure && error.code === "turn_running" && error.message === "busy");
  });

  it("does not stop at names and data it does not know", () => {
    expect(decode({ id: "1", event: "newer", data: "{}" })).toBeNull();
    expect(decode({ id: "1", event: "message", data: "not json" })).toBeNull();
    expect(decode({ id: "1", event: "message", data: "[]" })).toBeNull();
    expect(decode({ id: "x", event: "title", data: '{"title":"t"}' })).toEqual({ seq: null, name: "title", data: { title: "t" } });
  });
});
