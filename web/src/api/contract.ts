/** The server's interface as the page uses it; the names are those of openapi.json. */

export type Mode = "plan" | "build";
export type Word = "allow" | "ask" | "deny";

export interface Problem {
  code: string;
  message: string;
  hint?: string;
  paths?: string[];
  modes?: string[];
}

export interface Usage {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
  cost_usd: number | null;
}

export interface Question {
  call: string;
  question: string;
  options?: string[];
}

export interface ActionRequest {
  call: string;
  name: string;
  summary?: string;
  reason?: string;
}

export interface Interrupt {
  id: string;
  questions?: Question[];
  action_requests?: ActionRequest[];
}

export interface Thread {
  id: string;
  workspace: string;
  agent: string;
  model: string | null;
  title: string | null;
  mode: Mode;
  state: "idle" | "running" | "waiting";
  created_at: string;
  updated_at: string;
  last_seq: number;
  turns_count: number;
  tools: Record<string, Word>;
  pinned: boolean;
  archived: boolean;
  branch: Branch | null;
  family: string;
  interrupt: Interrupt | null;
  usage: Usage;
}

/** Where a branch begins: the thread it goes on from, and its first own turn. */
export interface Branch {
  thread: string;
  turn: number;
}

/** A place where words were found. */
export interface FoundPlace {
  thread: string;
  title: string | null;
  turn: number;
  part: string;
  before: string;
  words: string;
  after: string;
  at: string;
}

export interface Turn {
  number: number;
  mode: Mode;
  message: string;
  files: string[];
  state: "running" | "waiting" | "completed" | "denied" | "failed" | "cancelled" | "interrupted" | "undone";
  code: string | null;
  first_seq: number;
  last_seq: number;
  started_at: string;
  ended_at: string | null;
  changed: boolean;
  applied: boolean;
}

export interface Decision {
  type: "approve" | "reject";
  message?: string;
}

export interface Upload {
  id: string;
  name: string;
  bytes: number;
  sha256?: string;
}

export interface Todo {
  text: string;
  status: "pending" | "doing" | "done";
}

export type NodeStatus = "pending" | "running" | "done" | "failed" | "skipped";

export interface GraphNode {
  id: string;
  type: string;
  title: string;
  phase: string;
  status: NodeStatus;
  retries: number;
}

export interface GraphEdge {
  from: string;
  to: string;
  kind: "normal" | "fallback";
}

export interface TaskGraph {
  graphId: string;
  goal: string;
  /** A list, or a table by id: both are in use. */
  nodes: GraphNode[] | Record<string, GraphNode>;
  edges: GraphEdge[];
  cursor: { branchId: string; nodeId: string };
  status: "ready" | "running" | "paused" | "done" | "failed";
  unverified?: boolean;
}

export interface SupervisorRecord {
  ts: number;
  run: string | null;
  round: number;
  level: string;
  mode: string;
  phase: string;
  event: string;
  reason: string;
  payload: unknown;
}

/** One message of a stream, by its name. */
export interface Events {
  turn: {
    turn: number;
    mode: Mode;
    message?: string;
    files?: Upload[];
    at?: string;
    resumed?: boolean;
    answers?: (string | null)[];
    decisions?: Decision[];
  };
  message: { text: string; restart?: boolean };
  reasoning: { text: string };
  round: { round: number };
  tool_start: {
    call: string;
    tool: string;
    class?: string;
    summary?: string | null;
    decision?: Word;
    rule?: string;
    reason?: string;
  };
  tool_end: {
    call: string;
    tool: string;
    ok: boolean;
    exit_code?: number | null;
    duration_ms?: number;
    summary?: string | null;
    /** All of it, or its beginning where `output_end` is there. */
    output?: string;
    output_end?: string;
    output_bytes?: number;
    output_left_out?: number;
    /** Bytes that can be asked for. */
    output_kept?: number;
    /** What it changed in files, as a patch. */
    diff?: string;
    /** It was refused, which its start says already. */
    denied?: boolean;
  };
  /** What a call that runs has printed: how much, and its last lines. Not stored. */
  tool_output: { call: string; bytes: number; end: string };
  interrupt: Interrupt;
  title: { title: string };
  graph: { todos?: Todo[]; graph?: TaskGraph };
  supervisor: { record: SupervisorRecord };
  usage: Usage;
  note: { kind: string; text: string };
  error: { message: string; code?: string };
  done: Record<string, never>;
}

export type EventName = keyof Events;
export type StreamEvent = { [N in EventName]: { seq: number | null; name: N; data: Events[N] } }[EventName];

export interface ChangedFile {
  path: string;
  status: "added" | "modified" | "deleted";
}

export interface Diff {
  patch: string;
  files: ChangedFile[];
  insertions: number;
  deletions: number;
  ignored: number;
  moved: string[];
  sensitive: string[];
}

export interface Run {
  id: string;
  workspace: string;
  mode: string;
  goal: string;
  agent: string;
  started_at: string;
  state: "running" | "gate" | "finished";
  outcome: string | null;
  exit_code: number | null;
  gate: { step: string; files: Record<string, string> } | null;
}

export interface RunDetail extends Run {
  manifest: Record<string, unknown> | null;
  artifacts: { path: string; bytes: number }[];
  evidence?: { path: string; bytes: number }[];
}

/** A part of what a call printed. */
export interface OutputPart {
  from: number;
  next: number;
  kept: number;
  text: string;
}

/** The end of a file: what comes before it is `cut` bytes long. */
export interface Evidence {
  text: string;
  bytes: number;
  cut: number;
}

export interface ModeInfo {
  name: string;
  aliases: string[];
  description: string;
  source: string;
  access: string;
  /** What the mode is called in a chat, if it is one there. */
  chat: string | null;
  rows: { key: string; value: unknown; origin: string }[];
}

export interface AuditEntry {
  seq: number;
  at: string;
  actor: string;
  action: string;
  thread: string | null;
  turn: number | null;
  detail: Record<string, unknown>;
  prev: string;
  hash: string;
}

export interface AuditPage {
  entries: AuditEntry[];
  head: { seq: number; hash: string } | null;
}

export interface AuditVerdict {
  ok: boolean;
  length?: number;
  head?: string;
  at?: number;
  problem?: string;
}

export interface Info {
  version: string;
  user: string;
  workspaces: string[];
  demo: boolean;
  default_workspace: string | null;
  model: string | null;
  limits: { upload_bytes: number; message_bytes: number };
}
