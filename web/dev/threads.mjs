// Threads with numbered, stored events and streams that can be left and taken up again.
import { scriptFor, resumeOf, PATCH } from "./scripts.mjs";

const now = () => new Date().toISOString();

class Thread {
  constructor(id, workspace) {
    Object.assign(this, {
      id, workspace, events: [], turns: [], state: "idle", title: null, mode: "build", tools: {}, interrupt: null, readers: new Set(), created: now(), updated: now(),
      usage: { input: 0, cached: 0, output: 0, reasoning: 0, cost_usd: 0 }, cancelled: false, language: "en",
      pinned: false, archived: false, branch: null, family: id, outputs: new Map(),
    });
  }

  describe() {
    return {
      id: this.id, workspace: this.workspace, agent: "native", model: "demo/cassette", title: this.title, mode: this.mode, state: this.state,
      created_at: this.created, updated_at: this.updated, last_seq: this.events.length, turns_count: this.turns.length, tools: this.tools, interrupt: this.interrupt, usage: this.usage,
      pinned: this.pinned, archived: this.archived, branch: this.branch, family: this.family,
    };
  }

  emit(name, data) {
    if (name === "usage") this.usage = data;
    if (name === "title") this.title = data.title;
    if (name === "interrupt") this.interrupt = data;
    this.events.push({ name, data });
    this.updated = now();
    for (const reader of this.readers) this.write(reader, this.events.length);
  }

  write(reader, seq) {
    const { name, data } = this.events[seq - 1];
    reader.write(`id: ${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  stream(response, after) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(": hello\n\n");
    let text = "";
    for (let seq = after + 1; seq <= this.events.length; seq++) {
      const { name, data } = this.events[seq - 1];
      text += `id: ${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    }
    response.write(text);
    if (this.state !== "running") return void response.end("event: done\ndata: {}\n\n");
    this.readers.add(response);
    response.on("close", () => this.readers.delete(response));
  }

  say({ message, files = [], mode = "build" }) {
    const number = this.turns.length + 1;
    this.mode = mode;
    this.turns.push({ number, mode, message, files, state: "running", code: null, first_seq: this.events.length + 1, last_seq: 0, started_at: now(), ended_at: null, changed: false, applied: false });
    this.emit("turn", { turn: number, mode, message, files: files.map((id) => ({ id, name: id, bytes: 3 })), at: now() });
    if (this.title === null) this.emit("title", { title: message.slice(0, 40) });
    void this.play(scriptFor(message, mode, this.language, this.tools));
  }

  resume({ answers, decisions }) {
    this.interrupt = null;
    this.emit("turn", { turn: this.turns.length, mode: this.mode, resumed: true, answers, decisions });
    void this.play(resumeOf(answers, decisions));
  }

  async play(script) {
    this.state = "running";
    this.cancelled = false;
    const turn = this.turns.at(-1);
    for (const step of script) {
      if (step.wait) await new Promise((resolve) => setTimeout(resolve, step.wait));
      if (this.cancelled) {
        this.emit("error", { message: "Cancelled.", code: "cancelled" });
        turn.state = "cancelled";
        break;
      }
      if (step.drop) for (const reader of this.readers) reader.destroy();
      if (step.changed) turn.changed = true;
      if (step.live) for (const reader of this.readers) reader.write(`event: tool_output\ndata: ${JSON.stringify(step.live)}\n\n`);
      if (step.kept) this.outputs.set(`${turn.number}/${step.data.call}`, step.kept);
      if (step.name) this.emit(step.name, step.data);
      if (step.name === "error") turn.state = step.data.code === "plan_mode" ? "denied" : "failed";
    }
    this.state = this.interrupt ? "waiting" : "idle";
    if (turn.state === "running") turn.state = this.interrupt ? "waiting" : "completed";
    Object.assign(turn, { last_seq: this.events.length, ended_at: now() });
    for (const reader of this.readers) reader.end("event: done\ndata: {}\n\n");
    this.readers.clear();
  }

  cancel() {
    this.cancelled = this.state === "running";
    return this.cancelled;
  }

  diff() {
    const changed = this.turns.some((turn) => turn.changed && turn.state !== "undone" && !turn.applied);
    if (!changed) return { patch: "", files: [], insertions: 0, deletions: 0, ignored: 0, moved: [], sensitive: [] };
    return {
      patch: PATCH, insertions: 9, deletions: 3, ignored: 0, moved: [], sensitive: [],
      files: [
        { path: "src/greet.py", status: "modified" },
        { path: "tests/test_greet.py", status: "added" },
      ],
    };
  }

  apply() {
    const open = this.turns.filter((turn) => turn.changed && turn.state !== "undone" && !turn.applied);
    for (const turn of open) turn.applied = true;
    if (open.length) this.emit("note", { kind: "applied", text: "src/greet.py\ntests/test_greet.py" });
    return { applied: open.length > 0, files: open.length ? ["src/greet.py", "tests/test_greet.py"] : [] };
  }

  undo() {
    const turn = this.turns.findLast((one) => one.state !== "undone" && !one.applied);
    if (!turn) return [];
    turn.state = "undone";
    this.emit("note", { kind: "undone", text: String(turn.number) });
    return [turn.number];
  }
}

export class Threads {
  all = new Map();

  constructor() {
    // Two messages and a tool call per turn: 5,000 messages, as long as anybody will ever have, and a short one beside it.
    this.fill("t-small", "A short thread", 200);
    this.fill("t-big", "A long thread", 2500);
  }

  fill(id, title, turns) {
    const big = this.make("/srv/big", id);
    big.title = title;
    for (let turn = 1; turn <= turns; turn++) {
      big.turns.push({ number: turn, mode: "build", message: `Question ${turn}`, files: [], state: "completed", code: null, first_seq: big.events.length + 1, last_seq: 0, started_at: now(), ended_at: now(), changed: false, applied: false });
      big.events.push({ name: "turn", data: { turn, mode: turn % 5 ? "build" : "plan", message: `Question ${turn}: what does module ${turn} do?`, files: [], at: now() } });
      big.events.push({ name: "tool_start", data: { call: "1-1", tool: "read_file", summary: `src/module_${turn}.rs`, decision: "allow", rule: "tools.read_file", reason: "execute mode allows `read_file`" } });
      big.events.push({ name: "tool_end", data: { call: "1-1", tool: "read_file", ok: true, duration_ms: 2, summary: "120 lines", output: "fn main() {}\n".repeat(6) } });
      big.events.push({ name: "message", data: { text: `Module **${turn}** parses its input, checks it and returns a \`Result\`.\n\n- first point\n- second point with \`code\`\n\n\`\`\`rust\nfn module_${turn}() -> u32 {\n    ${turn}\n}\n\`\`\`\n` } });
    }
  }

  make(workspace, id = `t-${Math.random().toString(36).slice(2, 12)}`) {
    const thread = new Thread(id, workspace);
    this.all.set(id, thread);
    return thread;
  }

  /** A thread with what another one had before a turn. */
  branch(thread, number) {
    const branch = this.make(thread.workspace);
    const first = thread.turns.find((turn) => turn.number === number);
    branch.events = thread.events.slice(0, first.first_seq - 1);
    branch.turns = thread.turns.filter((turn) => turn.number < number).map((turn) => ({ ...turn }));
    branch.title = number > 1 ? thread.title : null;
    branch.family = thread.family;
    branch.branch = { thread: thread.id, turn: number };
    return branch;
  }

  familyOf(thread) {
    return [...this.all.values()].filter((other) => other.family === thread.family).sort((a, b) => a.created.localeCompare(b.created));
  }

  search(words) {
    const wanted = words.toLowerCase();
    const places = [];
    for (const thread of this.all.values()) {
      const add = (text, turn, part) => {
        const at = text.toLowerCase().indexOf(wanted);
        if (at >= 0) places.push({ thread: thread.id, title: thread.title, turn, part, before: text.slice(Math.max(0, at - 30), at), words: text.slice(at, at + wanted.length), after: text.slice(at + wanted.length, at + 60), at: thread.updated });
      };
      if (thread.title) add(thread.title, 0, "title");
      for (const turn of thread.turns) add(turn.message, turn.number, "message");
    }
    return { places: places.slice(0, 60), more: places.length > 60 };
  }

  page(limit, before, archived = false, pinned = null) {
    const latest = (thread) => !this.familyOf(thread).some((other) => other.updated > thread.updated && other.archived === archived);
    const all = [...this.all.values()].filter((thread) => thread.archived === archived && (pinned === null || thread.pinned === pinned) && latest(thread)).sort((a, b) => b.updated.localeCompare(a.updated));
    const from = before ? all.findIndex((thread) => thread.id === before) + 1 : 0;
    const threads = all.slice(from, from + limit);
    return { threads: threads.map((thread) => thread.describe()), next: from + limit < all.length ? threads.at(-1).id : null };
  }
}
