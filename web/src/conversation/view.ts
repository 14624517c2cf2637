/** What the page shows of a thread; made from events alone, so that a replay shows the same. */

import type { Decision, Interrupt, Mode, SupervisorRecord, TaskGraph, Todo, Upload, Usage, Word } from "../api/contract";

interface Base {
  /** Stable for as long as the entry lives. */
  key: string;
  turn: number;
}

export interface Said extends Base {
  kind: "said";
  mode: Mode;
  text: string;
  files: Upload[];
  at: string | null;
}

export interface Answer extends Base {
  kind: "answer";
  round: number;
  text: string;
  live: boolean;
}

export interface Thought extends Base {
  kind: "thought";
  round: number;
  text: string;
  live: boolean;
}

/** `lost`: the turn ended before the call came back. */
export type ToolState = "running" | "waiting" | "ok" | "failed" | "denied" | "lost";

export interface ToolUse extends Base {
  kind: "tool";
  call: string;
  tool: string;
  summary: string;
  decision: Word;
  rule: string;
  reason: string;
  state: ToolState;
  exitCode: number | null;
  durationMs: number | null;
  result: string;
  /** All of it, or its beginning where something is left out. */
  output: string;
  outputEnd: string;
  /** Bytes between the two. */
  leftOut: number;
  /** Bytes from the beginning on that the server can show. */
  kept: number;
  /** What it changed in files, as a patch. */
  diff: string;
  /** While it runs: bytes so far and the last lines. */
  now: { bytes: number; end: string } | null;
}

export interface Asked extends Base {
  kind: "asked";
  interrupt: Interrupt;
  /** Nothing while it waits. */
  answers: (string | null)[] | null;
  decisions: Decision[] | null;
  closed: boolean;
}

export interface Note extends Base {
  kind: "note";
  tone: string;
  text: string;
}

export interface Trouble extends Base {
  kind: "trouble";
  code: string;
  text: string;
}

export type Entry = Said | Answer | Thought | ToolUse | Asked | Note | Trouble;

/** A record, with the kind of step that it is about, as the plan was then. */
export interface Recorded {
  record: SupervisorRecord;
  step: string | null;
}

export interface Supervision {
  record: SupervisorRecord;
  /** The newest last, a bounded number. */
  records: Recorded[];
}

export interface View {
  entries: Entry[];
  lastSeq: number;
  turn: number;
  round: number;
  mode: Mode | null;
  title: string | null;
  todos: Todo[];
  graph: TaskGraph | null;
  supervision: Supervision | null;
  usage: Usage | null;
  /** Counts what may have changed the files, so that the diff is asked for again. */
  touched: number;
}

export const EMPTY: View = {
  entries: [],
  lastSeq: 0,
  turn: 0,
  round: 0,
  mode: null,
  title: null,
  todos: [],
  graph: null,
  supervision: null,
  usage: null,
  touched: 0,
};

/** The interruption that waits for this person. */
export function waiting(view: View): Asked | null {
  for (let at = view.entries.length - 1; at >= 0; at--) {
    const entry = view.entries[at];
    if (entry === undefined || entry.kind === "said") return null;
    if (entry.kind === "asked") return entry.closed ? null : entry;
  }
  return null;
}
