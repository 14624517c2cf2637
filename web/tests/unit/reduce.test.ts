import { describe, expect, it } from "vitest";
import type { EventName, Events, StreamEvent } from "../../src/api/contract";
import { reduce } from "../../src/conversation/reduce";
import { EMPTY, waiting, type Entry, type View } from "../../src/conversation/view";

/** Numbers the events from 1. */
function script(...steps: { [N in EventName]: [N, Events[N]] }[EventName][]): StreamEvent[] {
  return steps.map(([name, data], at) => ({ seq: name === "done" ? null : at + 1, name, data }) as StreamEvent);
}

/** The rows in short. */
function rows(view: View): string[] {
  return view.entries.map((entry: Entry) => {
    switch (entry.kind) {
      case "said":
        return `said(${entry.mode}) ${entry.text}`;
      case "answer":
      case "thought":
        return `${entry.kind}${entry.live ? "…" : ""} ${entry.text}`;
      case "tool":
        return `tool ${entry.tool} ${entry.decision} ${entry.state}`;
      case "asked":
        return `asked ${entry.closed ? `closed ${JSON.stringify(entry.answers ?? entry.decisions)}` : "open"}`;
      case "note":
        return `note ${entry.text}`;
      case "trouble":
        return `trouble ${entry.code}`;
    }
  });
}

/** The same rows however the events are divided, and a replay of what is known changes nothing. */
function check(events: StreamEvent[], expected: string[]): View {
  const whole = reduce(EMPTY, events);
  expect(rows(whole)).toEqual(expected);
  for (let cut = 0; cut <= events.length; cut++) {
    const parts = reduce(reduce(EMPTY, events.slice(0, cut)), events.slice(cut));
    expect(parts).toEqual(whole);
  }
  const stored = events.filter((event) => event.seq !== null);
  expect(reduce(whole, stored).entries).toEqual(whole.entries);
  const keys = whole.entries.map((entry) => entry.key);
  expect(new Set(keys).size).toBe(keys.length);
  return whole;
}

const turn = (number: number, message: string, mode: "plan" | "build" = "build"): ["turn", Events["turn"]] => ["turn", { turn: number, mode, message }];
const start = (call: string, decision: "allow" | "ask" | "deny", tool = "execute"): ["tool_start", Events["tool_start"]] => ["tool_start", { call, tool, decision }];
const end = (call: string, ok = true): ["tool_end", Events["tool_end"]] => ["tool_end", { call, tool: "execute", ok, exit_code: ok ? 0 : 1 }];

describe("the view of a thread", () => {
  it("joins the pieces of an answer, round by round", () => {
    check(
      script(turn(1, "hi"), ["round", { round: 1 }], ["message", { text: "a" }], ["message", { text: "b" }], start("1-1", "allow"), end("1-1"), ["round", { round: 2 }], ["message", { text: "c" }], ["done", {}]),
      ["said(build) hi", "answer ab", "tool execute allow ok", "answer c"],
    );
  });

  it("keeps thoughts apart from words", () => {
    check(script(turn(1, "x"), ["reasoning", { text: "hm" }], ["message", { text: "a" }], ["reasoning", { text: "m" }]), ["said(build) x", "thought hm", "answer a", "thought… m"]);
  });

  it("drops what a repeated request voids, and only that", () => {
    check(
      script(turn(1, "x"), ["round", { round: 1 }], ["message", { text: "kept" }], start("1-1", "allow"), end("1-1"), ["round", { round: 2 }], ["reasoning", { text: "gone" }], ["message", { text: "gone" }], ["message", { text: "", restart: true }], ["message", { text: "new" }]),
      ["said(build) x", "answer kept", "tool execute allow ok", "answer… new"],
    );
  });

  it("shows a plan turn that was refused", () => {
    check(
      script(turn(1, "ls", "plan"), start("1-1", "allow", "read_file"), end("1-1"), start("1-2", "deny"), ["error", { message: "当前为思考模式，请切换到 build 模式执行操作", code: "plan_mode" }], ["done", {}]),
      ["said(plan) ls", "tool read_file allow ok", "tool execute deny denied", "trouble plan_mode"],
    );
  });

  it("waits for an answer and closes it with what was said", () => {
    const asked = script(turn(1, "x"), start("1-1", "ask", "ask_user"), ["interrupt", { id: "i", questions: [{ call: "1-1", question: "?" }] }], ["done", {}]);
    const view = check(asked, ["said(build) x", "tool ask_user ask waiting", "asked open"]);
    expect(waiting(view)?.interrupt.id).toBe("i");
    const answered = check(
      script(turn(1, "x"), start("1-1", "ask", "ask_user"), ["interrupt", { id: "i", questions: [{ call: "1-1", question: "?" }] }], ["turn", { turn: 1, mode: "build", resumed: true, answers: ["yes"] }], end("1-1"), ["message", { text: "ok" }], ["done", {}]),
      ["said(build) x", "tool ask_user ask ok", 'asked closed ["yes"]', "answer ok"],
    );
    expect(waiting(answered)).toBeNull();
  });

  it("waits no longer for an answer to a turn that was stopped or taken back", () => {
    const asked: Parameters<typeof script> = [turn(1, "x"), ["interrupt", { id: "i", questions: [{ call: "1-1", question: "?" }] }]];
    const stopped = reduce(EMPTY, script(...asked, ["error", { code: "cancelled", message: "stopped" }]));
    expect([rows(stopped).at(-2), waiting(stopped)]).toEqual(["asked closed null", null]);
    const undone = reduce(EMPTY, script(...asked, ["note", { kind: "undone", text: "1" }]));
    expect([rows(undone).at(-2), waiting(undone)]).toEqual(["asked closed null", null]);
    const warned = reduce(EMPTY, script(...asked, ["note", { kind: "warning", text: "w" }]));
    expect(waiting(warned)?.interrupt.id).toBe("i");
  });

  it("takes an answered question for done, though nothing more comes of its call", () => {
    check(
      script(turn(1, "x"), start("1-1", "ask", "ask_user"), ["interrupt", { id: "i", questions: [{ call: "1-1", question: "?" }] }], ["turn", { turn: 1, mode: "build", resumed: true, answers: ["yes"] }], start("1-1", "allow", "ask_user"), ["message", { text: "ok" }], ["done", {}]),
      ["said(build) x", "tool ask_user allow ok", 'asked closed ["yes"]', "answer ok"],
    );
  });

  it("shows the supervisor of the last message only", () => {
    const record = { ts: 1, run: null, round: 1, level: "adaptive", mode: "forced", phase: "takeover", event: "switch", reason: "x", payload: {} };
    const first = reduce(EMPTY, script(turn(1, "a"), ["supervisor", { record }], turn(2, "~supervisor"), ["message", { text: "report" }]));
    expect(first.supervision?.record.reason).toBe("x");
    expect(reduce(first, [{ seq: 99, name: "turn", data: { turn: 3, mode: "build", message: "b" } }]).supervision).toBeNull();
  });

  it("lets a later decision about a call count", () => {
    check(
      script(turn(1, "x"), start("1-1", "ask"), ["interrupt", { id: "i", action_requests: [{ call: "1-1", name: "execute" }] }], ["turn", { turn: 1, mode: "build", resumed: true, decisions: [{ type: "approve" }] }], start("1-1", "allow"), end("1-1", false), ["done", {}]),
      ["said(build) x", "tool execute allow failed", 'asked closed [{"type":"approve"}]'],
    );
  });

  it("tells calls of different turns apart", () => {
    check(script(turn(1, "a"), start("1-1", "allow"), end("1-1"), turn(2, "b"), start("1-1", "allow")), ["said(build) a", "tool execute allow ok", "said(build) b", "tool execute allow running"]);
  });

  it("leaves nothing running at the end of a stream", () => {
    check(script(turn(1, "a"), start("1-1", "allow"), ["message", { text: "x" }], ["done", {}]), ["said(build) a", "tool execute allow lost", "answer x"]);
    check(script(turn(1, "a"), start("1-1", "allow"), ["error", { message: "killed", code: "interrupted" }], turn(2, "b")), ["said(build) a", "tool execute allow lost", "trouble interrupted", "said(build) b"]);
  });

  it("follows title, usage, graph and the supervisor's records, each with the step it is about", () => {
    const record = (reason: string, payload = {}) => ({ ts: 1, run: null, round: 1, level: "adaptive", mode: "free", phase: "takeover", event: "switch", reason, payload });
    const plan = (type: string) => ({ graphId: "g", goal: "", nodes: { "node-01": { id: "node-01", type, title: "", phase: "", status: "running" as const, retries: 0 } }, edges: [], cursor: { branchId: "main", nodeId: "node-01" }, status: "running" as const });
    const usage = { input: 1, cached: 0, output: 2, reasoning: 0, cost_usd: null };
    const view = reduce(EMPTY, script(turn(1, "a"), ["title", { title: "T" }], ["usage", usage], ["graph", { todos: [{ text: "x", status: "doing" }] }], ["supervisor", { record: record("node:current", { node: "node-01" }) }], ["graph", { graph: plan("edit") }], ["supervisor", { record: record("node:current", { node: "node-01" }) }], ["graph", { graph: plan("verify") }], ["supervisor", { record: record("drift:no_progress") }]));
    expect(view).toMatchObject({ title: "T", usage, todos: [{ text: "x", status: "doing" }], supervision: { record: { reason: "drift:no_progress" }, records: [{ step: null }, { step: "edit" }, { step: null }] } });
  });

  it("keeps rows that did not change as they are", () => {
    const before = reduce(EMPTY, script(turn(1, "a"), start("1-1", "allow"), end("1-1"), ["message", { text: "x" }]));
    const after = reduce(before, [{ seq: 9, name: "message", data: { text: "y" } }]);
    expect(after.entries[0]).toBe(before.entries[0]);
    expect(after.entries[1]).toBe(before.entries[1]);
    expect(after.entries[2]).not.toBe(before.entries[2]);
    expect(before.entries[2]).toMatchObject({ text: "x" });
  });

  it("takes 20,000 events in well under a second", () => {
    const events = script(...Array.from({ length: 5000 }, (_, at): Parameters<typeof script> => [turn(at + 1, "q"), start("1-1", "allow"), end("1-1"), ["message", { text: "a" }]]).flat());
    const began = performance.now();
    expect(reduce(EMPTY, events).entries).toHaveLength(15_000);
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
