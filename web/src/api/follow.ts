/** Follows a stream to its `done`, through broken connections: each event once, in order. */

import { asJson, Failure, request } from "./client";
import { SseParser, type SseMessage } from "./sse";
import type { Decision, EventName, Mode, StreamEvent } from "./contract";

export type Link = "open" | "lost";

export interface Following {
  thread: string;
  /** The last event already seen. */
  after: number;
  onEvent: (event: StreamEvent) => void;
  onLink: (link: Link) => void;
  signal: AbortSignal;
}

/** What starts the stream; without one, the stored events are asked for. */
export type Start =
  | { kind: "attach" }
  | { kind: "say"; message: string; files: string[]; mode: Mode }
  | { kind: "resume"; interrupt: string; answers?: string[]; decisions?: Decision[] };

/** Longest pause between two attempts, in milliseconds. */
const LONGEST = 8000;
/** A connection without a sign of life for this long is taken as dead; the server sends comments more often. */
export const SILENCE = 45_000;

/** Resolves after `done`. Rejects with a `Failure` when the server refuses; a lost connection is taken up again instead. */
export async function follow(how: Following, start: Start): Promise<void> {
  let { after } = how;
  let begin: Start = start;
  for (let attempt = 0; ; ) {
    let finished = false;
    let gap = false;
    try {
      const response = await open(how, begin, after);
      how.onLink("open");
      // The turn runs from here on, whatever becomes of this connection: never send the message twice.
      const own = begin.kind !== "attach";
      begin = { kind: "attach" };
      await read(response, how.signal, (message) => {
        attempt = 0;
        const event = decode(message);
        if (event === null) return undefined;
        if (event.seq !== null) {
          if (event.seq <= after) return undefined;
          // A stream of one turn begins later than what is known when somebody else said something meanwhile: then all is read.
          gap = own && event.seq > after + 1;
          if (gap) return false;
          after = event.seq;
        }
        if (event.name === "done") finished = true;
        how.onEvent(event);
        return undefined;
      });
      if (finished) return;
      if (gap) continue;
    } catch (error) {
      if (how.signal.aborted) return;
      if (finished) return;
      const fatal = error instanceof Failure && !error.offline && error.status !== 502 && error.status !== 504;
      // A message that never reached the server is the sender's to send again.
      if (fatal || (begin.kind !== "attach" && error instanceof Failure)) throw error;
    }
    if (how.signal.aborted) return;
    how.onLink("lost");
    await pause(Math.min(LONGEST, 400 * 2 ** attempt++), how.signal);
    if (how.signal.aborted) return;
  }
}

function open(how: Following, start: Start, after: number): Promise<Response> {
  const thread = encodeURIComponent(how.thread);
  const { signal } = how;
  switch (start.kind) {
    case "say": {
      const { message, files, mode } = start;
      return request(`/api/chat/${thread}?live=true`, { ...asJson("POST", files.length ? { message, files, mode } : { message, mode }), signal });
    }
    case "resume": {
      const { interrupt, answers, decisions } = start;
      return request(`/api/chat/${thread}/resume?live=true`, { ...asJson("POST", { interrupt_id: interrupt, answers, decisions }), signal });
    }
    case "attach":
      return request(`/api/chat/${thread}/events?live=true&after=${after}`, { signal, headers: { "Last-Event-ID": String(after) } });
  }
}

/** Reads to the end, or until `emit` has had enough. */
async function read(response: Response, signal: AbortSignal, emit: (message: SseMessage) => false | undefined): Promise<void> {
  if (!response.body) return;
  let enough = false;
  const parser = new SseParser((message) => {
    if (!enough && emit(message) === false) enough = true;
  });
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await alive(reader.read(), signal);
      if (done) return;
      parser.push(decoder.decode(value, { stream: true }));
      if (enough) return;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** The promise, or an error after too long a silence. */
function alive<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no sign of life")), SILENCE);
    const stop = () => reject(new Error("aborted"));
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });
}

const NAMES = new Set<string>([
  "turn", "message", "reasoning", "round", "tool_start", "tool_end", "tool_output", "interrupt", "title", "graph", "supervisor", "usage", "note", "error", "done",
] satisfies EventName[]);

/** The typed event; nothing for names of a newer server and for data that is not an object. */
export function decode(message: SseMessage): StreamEvent | null {
  if (!NAMES.has(message.event)) return null;
  try {
    const data: unknown = JSON.parse(message.data);
    if (typeof data !== "object" || data === null || Array.isArray(data)) return null;
    const seq = message.id !== null && /^\d+$/.test(message.id) ? Number(message.id) : null;
    return { seq, name: message.event, data } as StreamEvent;
  } catch {
    return null;
  }
}

/** Waits, but no longer than until the browser is online again. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      globalThis.removeEventListener?.("online", end);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    globalThis.addEventListener?.("online", end);
    signal.addEventListener("abort", end, { once: true });
  });
}
