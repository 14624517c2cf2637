// Runs, modes and audit entries of the stand-in.
import { PATCH } from "./scripts.mjs";

export const info = {
  version: "0.1.0", user: "local", workspaces: ["/srv/projects", "/srv/work"], demo: true, default_workspace: "/srv/projects/greeter", model: "demo/cassette",
  limits: { upload_bytes: 10 * 1024 * 1024, message_bytes: 256 * 1024 },
};

const run = (id, goal, mode, more, artifacts) => ({
  id, workspace: "/srv/projects/greeter", mode, goal, agent: "native", started_at: "2026-11-15T08:01:00Z", state: "finished", outcome: "success", exit_code: 0, gate: null,
  manifest: { run_id: id, status: "completed", outcome: "success" }, artifacts: artifacts.map((path) => ({ path, bytes: (FILES[path] ?? "").length })),
  evidence: Object.entries(EVIDENCE).map(([path, text]) => ({ path, bytes: text.length })), ...more,
});

const EVIDENCE = {
  "agent.log": `${Array.from({ length: 60 }, (_, at) => `step ${at + 1}: looked at src/module_${at}.py`).join("\n")}\n\u001b[31merror\u001b[0m: no key for openrouter: 401 <b>unauthorized</b>\n`,
  "check-1.log": "..\n2 passed in 0.04s\n",
  "events.jsonl": '{"seq":1,"type":"run_started"}\n',
};

export const evidence = (_id, path) => EVIDENCE[path] === undefined ? undefined : { text: EVIDENCE[path], bytes: EVIDENCE[path].length, cut: 0 };

const FILES = {
  "diff.patch": PATCH,
  "summary.md": "# Summary\n\nThe greeting can be loud now. Two tests pass.\n",
  "plan.md": "# Plan\n\n## Goal\nA loud greeting.\n\n## Context\n`src/greet.py`\n\n## Steps\n1. Add the parameter\n2. Test it\n\n## Risks\nCallers with positional arguments.\n\n## Verification\n`pytest`\n",
  "plan.json": JSON.stringify({ steps: [{ id: "s1", title: "Add the parameter", files: ["src/greet.py"], checks: ["pytest -q"], depends_on: [] }, { id: "s2", title: "Test it", files: ["tests/test_greet.py"], checks: ["pytest -q"], depends_on: ["s1"] }], risks: ["Callers with positional arguments"], acceptance: ["All tests pass"] }),
  "review.json": JSON.stringify({
    version: 1, base: "abc", head: "def", verdict: "block",
    findings: [
      { path: "src/greet.py", line: 4, end_line: 6, side: "new", severity: "high", category: "correctness", title: "A name of None is greeted", body: "`greet(None)` says **hello None**.", suggestion: '    if name is None:\n        raise ValueError("a name is needed")', confidence: 0.9, snippet: '    text = f"hello {name}"\n    return text.upper() if loud else text', fingerprint: "f1", location: "verified" },
      { path: "src/greet.py", line: 1, side: "new", severity: "nit", category: "style", title: "The docstring could say more", body: "One sentence is enough.", confidence: 0.4, snippet: '"""Greetings."""', fingerprint: "f2", location: "verified" },
      { path: "README.md", line: null, side: "new", severity: "medium", category: "docs", title: "The option is not described", body: "Say how to be loud.", confidence: 0.7, snippet: "", fingerprint: "f3", location: "file" },
    ],
  }),
  "ethics.json": JSON.stringify({
    request_id: "r", goal_id: "g", risk_level: "low", is_approved: true, approval_justification: "A greeting is harmless.",
    principle_impacts: [{ principle: "privacy", impact: "none", rationale: "No data is kept." }], mitigations: ["None needed"],
    evidence: [{ kind: "file", ref: "src/greet.py", sha256: null, excerpt: null }], checks: [{ id: "secrets", status: "pass", detail: "no token shapes" }, { id: "licences", status: "unverified", detail: "one could not be looked up offline" }], history: null,
  }),
};

export const runs = [
  run("20261115-080100-aaaaaa", "Make the greeting loud", "plan-then-execute", { state: "gate", outcome: null, exit_code: null, gate: { step: "execute", files: { "plan/plan.md": "ab12".repeat(16), "plan/plan.json": "cd34".repeat(16) } } }, ["plan.md", "plan.json"]),
  run("20261115-075500-bbbbbb", "Review the greeting", "review", {}, ["review.json", "summary.md"]),
  run("20261115-074000-cccccc", "Make the greeting loud", "execute", {}, ["diff.patch", "summary.md", "ethics.json"]),
  run("20261115-073000-dddddd", "Rename everything", "execute", { outcome: "failure", exit_code: 1, manifest: { error: { kind: "model", message: "the provider refused the key", hint: "set OPENROUTER_API_KEY" }, breaches: [] } }, []),
  run("20261115-071000-ffffff", "Teach the greeter two languages", "orchestrate", { state: "running", outcome: null, exit_code: null, manifest: null }, []),
  run("20261115-070000-gggggg", "Teach the greeter three languages", "orchestrate", { outcome: "needs_human", exit_code: 2, manifest: { error: { kind: "partial", message: "only a part of it is done" }, breaches: [] } }, ["diff.patch", "summary.md"]),
  run("20261115-072000-eeeeee", "Look for slow tests", "ask", { state: "running", outcome: null, exit_code: null, manifest: null }, []),
];

const task = (id, mode, goal, depends_on = []) => ({ id, mode, goal, depends_on });
const PLAN = { type: "tasks_planned", tasks: [task("words", "execute", "Write down the greetings"), task("choose", "execute", "Choose the language by LANG", ["words"]), task("docs", "execute", "Describe it in the README", ["words"]), task("look", "review", "Review both", ["choose", "docs"]), task("ethical", "ethical", "Assess purpose and risks of all changes together", ["look"])] };
const begun = (step, mode, attempt = 1) => ({ type: "step_started", step, mode, attempt });
const doing = (step, agent, model, cost_usd, action) => ({ type: "task_progress", step, step_run: "20261115-071001-aaaaaa", agent, model, cost_usd, action });
const ended = (step, outcome) => ({ type: "step_finished", step, outcome, duration_ms: 61000 });
const ORCHESTRATION = [
  begun("orchestrate", "orchestrate"), PLAN, begun("words", "execute"), doing("words", "native", "anthropic/claude-sonnet-5.5", 0.12, "write_file words.sh"), ended("words", "success"),
  begun("choose", "execute", 2), doing("choose", "claude-code", "claude-opus-4.6", 0.48, "Edit greet.sh: a line that is long enough to need a second one on a narrow screen, with_a_name_that_cannot_be_broken_anywhere"),
  begun("docs", "execute"), doing("docs", "native", "openai/gpt-6-mini", 0.01, "read_file README.md"),
];

/** What the events of an orchestration tell; nothing of other runs. */
export const orchestrated = (id) =>
  ({ "20261115-071000-ffffff": ORCHESTRATION, "20261115-070000-gggggg": [...ORCHESTRATION, ended("docs", "success"), ended("choose", "failure"), { type: "run_finished" }] })[id];

export const runFile = (_id, path) => FILES[path];

const rows = (access) => [
  ["name", "plan", "built-in"], ["workspace.access", access, "built-in"], ["tools.execute", "allow", "built-in"], ["tools.write_file", access === "rw" ? "allow" : "deny", "built-in"], ["tools.ask_user", "ask", "built-in"],
  ["network.tools", "gateway", "built-in"], ["limits.rounds", 100, "~/.config/holon/config.toml"], ["limits.timeout", "1h", "built-in"], ["artifacts.required", ["plan.md"], "built-in"], ["model.intent", "architect", "built-in"],
].map(([key, value, origin]) => ({ key, value, origin }));

export const modes = [
  { name: "execute", aliases: ["build", "code"], description: "Changes the code and hands back a patch", source: "built-in", access: "rw", chat: "build", rows: rows("rw") },
  { name: "plan", aliases: [], description: "Thinks a change through and writes it down; changes nothing", source: "built-in", access: "read-only", chat: "plan", rows: rows("read-only") },
  { name: "review", aliases: ["code_review"], description: "Reads a change and says what is wrong with it", source: "built-in", access: "read-only", chat: null, rows: rows("read-only") },
];

const entry = (seq) => ({
  seq, at: "2026-11-15T08:00:00Z", actor: "local", action: ["turn.started", "tool.decided", "mode.switched", "apply"][seq % 4], thread: seq % 2 ? "t-big" : "t-other", turn: seq,
  detail: { tool: "execute", verdict: seq % 3 ? "allow" : "deny", rule: "chat plan: execute = deny", arguments_sha256: "ef56".repeat(16) }, prev: "0".repeat(64), hash: `${seq}a7c`.padEnd(64, "0"),
});

export function audit(query) {
  const thread = query.get("thread");
  const entries = Array.from({ length: 24 }, (_, at) => entry(at + 1)).filter((one) => one.seq > Number(query.get("after") ?? 0) && (!thread || one.thread === thread));
  return { entries, head: { seq: 24, hash: "9f2c".repeat(16) } };
}
