/** Events in, view out: pure, and quick for thousands of events at once. */

import type { Events, GraphNode, StreamEvent } from "../api/contract";
import type { Asked, Entry, ToolUse, View } from "./view";

/** Supervisor records kept for the panel. */
const RECORDS = 60;

/** The view after these events. Entries that did not change keep their identity. */
export function reduce(view: View, events: readonly StreamEvent[]): View {
  if (events.length === 0) return view;
  const next = new Draft({ ...view, entries: view.entries.slice() });
  for (const event of events) next.take(event);
  return next.view;
}

class Draft {
  constructor(readonly view: View) {}

  take(event: StreamEvent): void {
    const { view } = this;
    if (event.seq !== null) {
      if (event.seq <= view.lastSeq) return;
      view.lastSeq = event.seq;
    }
    switch (event.name) {
      case "turn":
        return event.data.resumed ? this.resumed(event.data) : this.turn(event.data);
      case "message":
        return event.data.restart ? this.restart() : this.text("answer", event.data.text);
      case "reasoning":
        return this.text("thought", event.data.text);
      case "round":
        this.settleText();
        view.round = event.data.round;
        return;
      case "tool_start":
        return this.toolStart(event.data);
      case "tool_end":
        return this.toolEnd(event.data);
      case "tool_output":
        return this.toolOutput(event.data);
      case "interrupt":
        this.settleText();
        return this.add({
          kind: "asked", key: this.key(), turn: view.turn, interrupt: event.data, answers: null, decisions: null, closed: false,
        });
      case "title":
        view.title = event.data.title;
        return;
      case "graph":
        if (event.data.todos) view.todos = event.data.todos;
        if (event.data.graph) view.graph = event.data.graph;
        return;
      case "supervisor":
        return this.supervisor(event.data.record);
      case "usage":
        view.usage = event.data;
        return;
      case "note":
        view.touched++;
        // A turn that was taken back waits for nobody.
        if (event.data.kind === "undone") this.closeAsked(null, null);
        return this.add({ kind: "note", key: this.key(), turn: view.turn, tone: event.data.kind, text: event.data.text });
      case "error":
        this.settle();
        this.closeAsked(null, null);
        return this.add({ kind: "trouble", key: this.key(), turn: view.turn, code: event.data.code ?? "", text: event.data.message });
      case "done":
        view.touched++;
        return this.settle();
    }
  }

  private turn(data: Events["turn"]): void {
    this.settle();
    this.closeAsked(null, null);
    const { view } = this;
    view.turn = data.turn;
    view.mode = data.mode;
    view.round = 0;
    // Each message has a supervisor of its own; one that only asks for its report changes nothing.
    if (data.message?.trim() !== "~supervisor") Object.assign(view, { graph: null, supervision: null });
    this.add({
      kind: "said", key: this.key(), turn: data.turn, mode: data.mode, text: data.message ?? "", files: data.files ?? [], at: data.at ?? null,
    });
  }

  private resumed(data: Events["turn"]): void {
    this.closeAsked(data.answers ?? null, data.decisions ?? null);
  }

  private text(kind: "answer" | "thought", text: string): void {
    if (text === "") return;
    const { view } = this;
    const last = view.entries.at(-1);
    if (last?.kind === kind && last.live) {
      view.entries[view.entries.length - 1] = { ...last, text: last.text + text };
      return;
    }
    this.settleText();
    this.add({ kind, key: this.key(), turn: view.turn, round: view.round, text, live: true });
  }

  /** What was said since the round began is void: the request is sent again. */
  private restart(): void {
    const { entries, round, turn } = this.view;
    for (let at = entries.length - 1; at >= 0; at--) {
      const entry = entries[at];
      if (entry === undefined || entry.turn !== turn || entry.kind === "said") return;
      if ((entry.kind === "answer" || entry.kind === "thought") && entry.round === round) entries.splice(at, 1);
    }
  }

  private toolStart(data: Events["tool_start"]): void {
    this.settleText();
    const decision = data.decision ?? "allow";
    const state = decision === "deny" ? "denied" : decision === "ask" ? "waiting" : data.tool === "ask_user" && this.answered(data.call) ? "ok" : "running";
    const at = this.findTool(data.call);
    const known = this.view.entries[at] as ToolUse | undefined;
    const entry: ToolUse = {
      kind: "tool",
      key: known?.key ?? this.key(),
      turn: this.view.turn,
      call: data.call,
      tool: data.tool,
      summary: data.summary ?? known?.summary ?? "",
      decision,
      rule: data.rule ?? "",
      reason: data.reason ?? "",
      state,
      exitCode: null,
      durationMs: null,
      result: "",
      output: "",
      outputEnd: "",
      leftOut: 0,
      kept: 0,
      diff: "",
      now: null,
    };
    if (known) this.view.entries[at] = entry;
    else this.add(entry);
  }

  /** A question is over when it is answered; nothing else comes of its call. */
  private answered(call: string): boolean {
    const { entries, turn } = this.view;
    return entries.some((entry) => entry.kind === "asked" && entry.turn === turn && entry.closed && entry.interrupt.questions?.some((question) => question.call === call));
  }

  private toolOutput({ call, bytes, end }: Events["tool_output"]): void {
    const at = this.findTool(call);
    const entry = this.view.entries[at];
    if (entry?.kind === "tool" && entry.state === "running") this.view.entries[at] = { ...entry, now: { bytes, end } };
  }

  private toolEnd(data: Events["tool_end"]): void {
    if (this.findTool(data.call) < 0) this.toolStart({ call: data.call, tool: data.tool });
    const at = this.findTool(data.call);
    const entry = this.view.entries[at];
    if (entry?.kind !== "tool") return;
    // Its start said so, and why.
    if (data.denied) return;
    this.view.touched++;
    this.view.entries[at] = {
      ...entry,
      state: data.ok ? "ok" : "failed",
      exitCode: data.exit_code ?? null,
      durationMs: data.duration_ms ?? null,
      result: data.summary ?? "",
      output: data.output ?? "",
      outputEnd: data.output_end ?? "",
      leftOut: data.output_left_out ?? 0,
      kept: data.output_kept ?? 0,
      diff: data.diff ?? "",
      now: null,
    };
  }

  private supervisor(record: Events["supervisor"]["record"]): void {
    const before = this.view.supervision;
    const recorded = { record, step: this.step(record.payload) };
    this.view.supervision = { record, records: [...(before?.records ?? []), recorded].slice(-RECORDS) };
  }

  /** Later plans use the same names for other steps. */
  private step(payload: unknown): string | null {
    const { graph } = this.view;
    const name = (payload as { node?: unknown } | null)?.node;
    if (graph === null || typeof name !== "string") return null;
    return Object.values(graph.nodes).find((node: GraphNode) => node.id === name)?.type ?? null;
  }

  /** The last call of that name in this turn. */
  private findTool(call: string): number {
    const { entries, turn } = this.view;
    for (let at = entries.length - 1; at >= 0; at--) {
      const entry = entries[at];
      if (entry === undefined || entry.turn !== turn) return -1;
      if (entry.kind === "tool" && entry.call === call) return at;
    }
    return -1;
  }

  private settleText(): void {
    const { entries } = this.view;
    const last = entries.at(-1);
    if ((last?.kind === "answer" || last?.kind === "thought") && last.live) entries[entries.length - 1] = { ...last, live: false };
  }

  /** The stream is at its end: nothing is under way any more, except what waits for a person. */
  private settle(): void {
    this.settleText();
    const { entries, turn } = this.view;
    const open = entries.findLast((entry) => entry.kind === "asked" || entry.kind === "said")?.kind === "asked";
    for (let at = entries.length - 1; at >= 0; at--) {
      const entry = entries[at];
      if (entry === undefined || entry.turn !== turn) return;
      if (entry.kind !== "tool") continue;
      if (entry.state === "running" && !(open && entry.tool === "ask_user")) entries[at] = { ...entry, state: "lost", now: null };
    }
  }

  /** Ends what the current turn asked, if it still waits. */
  private closeAsked(answers: Asked["answers"], decisions: Asked["decisions"]): void {
    const { entries } = this.view;
    const at = entries.findLastIndex((entry) => entry.kind === "asked" || entry.kind === "said");
    const entry = entries[at];
    if (entry?.kind === "asked" && !entry.closed) entries[at] = { ...entry, closed: true, answers, decisions };
  }

  private add(entry: Entry): void {
    this.view.entries.push(entry);
  }

  private key(): string {
    const { view } = this;
    return `${view.lastSeq}.${view.entries.length}`;
  }
}
