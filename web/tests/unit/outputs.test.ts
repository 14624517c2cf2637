import { describe, expect, it } from "vitest";
import type { Events, StreamEvent } from "../../src/api/contract";
import { readOf } from "../../src/chat/tool-output";
import { nearest, rowsWith } from "../../src/conversation/find";
import { reduce } from "../../src/conversation/reduce";
import { EMPTY, type ToolUse, type View } from "../../src/conversation/view";

const play = (...events: { [N in keyof Events]: [N, Events[N]] }[keyof Events][]): View =>
  reduce(EMPTY, events.map(([name, data], at) => ({ seq: name === "tool_output" ? null : at + 1, name, data }) as StreamEvent));
const tool = (view: View) => view.entries.findLast((entry) => entry.kind === "tool") as ToolUse;
const begun: ["turn", Events["turn"]] = ["turn", { turn: 1, mode: "build", message: "Go on" }];
const start: ["tool_start", Events["tool_start"]] = ["tool_start", { call: "1-1", tool: "execute", summary: "make", decision: "allow" }];

describe("what calls print", () => {
  it("is seen while they run, and gone when they end", () => {
    const running = play(begun, start, ["tool_output", { call: "1-1", bytes: 6, end: "begun\n" }]);
    expect(tool(running).now).toEqual({ bytes: 6, end: "begun\n" });
    const ended = play(begun, start, ["tool_output", { call: "1-1", bytes: 6, end: "x" }], ["tool_end", { call: "1-1", tool: "execute", ok: true, output: "a", output_end: "z", output_left_out: 9, output_kept: 11, diff: "d" }]);
    expect(tool(ended)).toMatchObject({ now: null, output: "a", outputEnd: "z", leftOut: 9, kept: 11, diff: "d", state: "ok" });
    const late = play(begun, start, ["tool_end", { call: "1-1", tool: "execute", ok: true }], ["tool_output", { call: "1-1", bytes: 6, end: "x" }]);
    expect(tool(late).now).toBeNull();
    expect(tool(play(begun, start, ["tool_output", { call: "9-9", bytes: 6, end: "x" }])).now).toBeNull();
    const lost = play(begun, start, ["tool_output", { call: "1-1", bytes: 6, end: "x" }], ["done", {}]);
    expect(tool(lost)).toMatchObject({ state: "lost", now: null });
  });

  it("leaves a refused call refused", () => {
    const denied = play(begun, ["tool_start", { ...start[1], decision: "deny", reason: "no" }], ["tool_end", { call: "1-1", tool: "execute", ok: false, denied: true, summary: "no" }]);
    expect(tool(denied)).toMatchObject({ state: "denied", reason: "no", result: "" });
  });

  it("is a part of a file where it says so", () => {
    expect(readOf("[lines 2-3 of 9; go on with offset 4]\nb\nc\n")).toEqual({ from: 2, to: 3, total: "9", text: "b\nc\n" });
    expect(readOf("[lines 2-3 of 9]\n2\tb\n3\tc\n")?.text).toBe("b\nc");
    expect([readOf("[empty file]"), readOf("words"), readOf("[no line 50: the file has 9]")]).toEqual([null, null, null]);
  });
});

describe("finding", () => {
  const view = play(begun, start, ["tool_end", { call: "1-1", tool: "execute", ok: true, output: "Linking", output_end: "DONE" }], ["message", { text: "It is done." }], ["turn", { turn: 2, mode: "build", message: "done?" }]);

  it("looks at everything a row says", () => {
    expect(rowsWith(view.entries, "done")).toEqual([1, 2, 3]);
    expect(rowsWith(view.entries, " GO ON ")).toEqual([0]);
    expect([rowsWith(view.entries, ""), rowsWith(view.entries, "nowhere")]).toEqual([[], []]);
  });

  it("begins at the turn that was asked for, else at the end", () => {
    expect([nearest(view.entries, [1, 2, 3], 2), nearest(view.entries, [1, 2, 3], 1), nearest(view.entries, [1, 2, 3], 0), nearest(view.entries, [], 1)]).toEqual([2, 0, 2, -1]);
  });
});
