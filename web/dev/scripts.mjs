// What the stand-in answers; the words of a message choose the script.

export const PATCH = `diff --git a/src/greet.py b/src/greet.py
index 1111111..2222222 100644
--- a/src/greet.py
+++ b/src/greet.py
@@ -1,8 +1,10 @@ def greet(name):
 """Greetings."""
 
-def greet(name):
-    return "hello " + name
+def greet(name: str, loud: bool = False) -> str:
+    """A greeting for one person."""
+    text = f"hello {name}"
+    return text.upper() if loud else text
 
 
 if __name__ == "__main__":
-    print(greet("world"))
+    print(greet("world", loud=True))
diff --git a/tests/test_greet.py b/tests/test_greet.py
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/tests/test_greet.py
@@ -0,0 +1,4 @@
+from src.greet import greet
+
+def test_loud():
+    assert greet("a", loud=True) == "HELLO A"
`;

const step = (name, data, wait = 0) => ({ name, data, wait });
const say = (text, wait = 12) => (text.match(/[\s\S]{1,9}/g) ?? []).map((piece) => step("message", { text: piece }, wait));
const usage = step("usage", { input: 18423, cached: 12000, output: 1290, reasoning: 310, cost_usd: 0.0421 });

const call = (id, tool, summary, output, more = {}) => [
  step("tool_start", { call: id, tool, class: "exec", summary, decision: "allow", rule: `tools.${tool}`, reason: `execute mode allows \`${tool}\`` }, 30),
  { ...step("tool_end", { call: id, tool, ok: true, exit_code: tool === "execute" ? 0 : null, duration_ms: 38, summary: "", output, ...more }, 120), changed: /write|edit/.test(tool) },
];

const node = (id, type, title, status, retries = 0) => ({ id, type, title, phase: "editing", status, retries });
const graph = (statuses, cursor, status = "running") => ({
  graphId: "graph-1", goal: "Make the greeting loud", status, cursor: { branchId: "main", nodeId: cursor, nodeIndex: 0, completedNodeIds: [] },
  nodes: [
    node("node-01", "inspect", "Read src/greet.py", statuses[0]), node("node-02", "edit", "Add the loud option", statuses[1]),
    node("node-03", "verify", "Run the tests", statuses[2], statuses[2] === "failed" ? 2 : 0), node("node-04", "summarize", "Say what was done", statuses[3]),
    node("node-fb01", "fallback", "Smaller change", "pending"),
  ],
  edges: [
    { from: "node-01", to: "node-02", kind: "normal" }, { from: "node-02", to: "node-03", kind: "normal" }, { from: "node-03", to: "node-04", kind: "normal" },
    { from: "node-03", to: "node-fb01", kind: "fallback" }, { from: "node-fb01", to: "node-04", kind: "normal" },
  ],
});
const record = (round, phase, event, reason, payload = {}, level = "adaptive") => step("supervisor", { record: { ts: round * 1000, run: null, round, level, mode: level === "strict" ? "forced" : "free", phase, event, reason, payload } });
const signals = (...readings) => ({ signals: readings.map(([signal, value, threshold]) => ({ signal, value, threshold })) });

const ANSWER = `## What I did

\`greet\` now takes \`loud\`, and there is a test for it.

| file | change |
|---|---|
| \`src/greet.py\` | new parameter, type hints |
| \`tests/test_greet.py\` | one test |

\`\`\`python
print(greet("world", loud=True))  # HELLO WORLD
\`\`\`

- [x] tests pass
- [ ] documentation, if you want it

> Nothing is in your workspace before you apply it.
`;

const HOSTILE = `<img src=x onerror="window.__pwned=1"><script>window.__pwned=1</script>

[click](javascript:window.__pwned=1) ![pixel](http://elsewhere.invalid/p.png) [data](data:text/html,<script>1</script>) <https://elsewhere.invalid/>

<iframe src="http://elsewhere.invalid"></iframe>
`;

const PLAN_REFUSED = { en: "This is plan mode; switch to build mode to carry operations out.", zh: "当前为思考模式，请切换到 build 模式执行操作" };

/** A turn that runs the same failing command until the supervisor stops it. */
function stuck() {
  const tries = (round) => [step("round", { round }, 10), ...call(`${round}-1`, "execute", "sh build.sh", "greet.sh: line 3: syntax error", { ok: false, exit_code: 2 })];
  const same = (value) => ["tool_repeat_fail", value, 3];
  const why = "Not executed: `sh build.sh` failed 6 times with exit code 2: greet.sh: line 3: syntax error. No file changed and nothing else ran in between, so it will fail again.";
  const words = "the recovery budget is spent (rounds): 8 rounds, 5120 tokens";
  return [
    ...[1, 2, 3].flatMap(tries), record(3, "free", "drift", "drift:tool_repeat_fail", { signal: "tool_repeat_fail", value: 3, threshold: 3, entries: 3 }), record(3, "free", "switch", "notice:tool_repeat_fail", signals(same(3))),
    ...[4, 5].flatMap(tries), record(5, "free", "drift", "drift:no_progress", { signal: "no_progress", value: 5, threshold: 5, entries: 5 }), record(5, "free", "switch", "advice:tool_repeat_fail", signals(same(5), ["no_progress", 5, 5])),
    record(5, "free", "recover", "recover:check", { command: "sh build.sh" }),
    ...tries(6), record(7, "free", "failure", "gate:block", { call: "7-1", tool: "execute", rule: "futile", why }),
    ...tries(8), record(8, "takeover", "recover", "takeover:tool_repeat_fail", signals(same(7), ["no_progress", 8, 5])), record(8, "takeover", "task_graph_init", "template_graph", { graph: "graph-1", progress: 25 }),
    step("graph", { graph: graph(["done", "running", "pending", "pending"], "node-02") }),
    record(8, "takeover", "recover", "recover:template_graph", { trust: 1000, git: "normal", cases: ["greet.sh: line 3"] }),
    ...tries(9), record(9, "takeover", "failure", "call:malformed", { tool: "edit_file", why: "`path` is missing" }), record(10, "takeover", "switch", "heard_of:nothing"),
    record(16, "takeover", "timeout", "recovery_budget:rounds", { stop: "user_checkpoint", reason: words }), usage,
    step("error", { message: words, code: "stopped" }),
  ];
}

export function scriptFor(message, mode, language, tools) {
  const has = (word) => message.toLowerCase().includes(word);
  if (has("ask") || has("选择")) {
    return [
      step("round", { round: 1 }, 30), ...say("I need to know one thing first."),
      step("tool_start", { call: "1-1", tool: "ask_user", class: "ask", summary: "Which way?", decision: "ask", rule: "tools.ask_user", reason: "execute mode asks a person about `ask_user`" }),
      step("interrupt", { id: "i-1", questions: [{ call: "1-1", question: "Which greeting should be the default?", options: ["quiet", "loud"] }, { call: "1-1", question: "Anything else to know?" }] }),
    ];
  }
  if (has("hostile")) {
    return [
      step("round", { round: 1 }), step("tool_start", { call: "1-1", tool: "<b>x</b>", summary: "<img src=x onerror=alert(1)>", decision: "allow", reason: "<script>1</script>" }),
      step("tool_end", { call: "1-1", tool: "<b>x</b>", ok: true, duration_ms: 1, output: "\u001b[31m<script>window.__pwned=1</script>" }), ...say(HOSTILE), step("title", { title: "<img src=x onerror=window.__pwned=1>" }), usage,
    ];
  }
  if (has("long output")) {
    const whole = Array.from({ length: 9000 }, (_, at) => `test case_${at} ... ok\n`).join("") + "error: the last line says why\n";
    const [head, end] = [whole.slice(0, 8192), whole.slice(-8192)];
    return [
      step("round", { round: 1 }), step("tool_start", { call: "1-1", tool: "execute", class: "exec", summary: "cargo test", decision: "allow", rule: "tools.execute", reason: "execute mode allows `execute`" }, 20),
      { wait: 60, live: { call: "1-1", bytes: 44, end: "test case_0 ... ok\ntest case_1 ... ok\n" } },
      { wait: 900, live: { call: "1-1", bytes: 90_000, end: "test case_4000 ... ok\ntest case_4001 ... ok\n" } },
      { ...step("tool_end", { call: "1-1", tool: "execute", ok: false, exit_code: 101, duration_ms: 1900, summary: "exit code 101", output: head, output_end: end, output_bytes: whole.length, output_left_out: whole.length - 16384, output_kept: whole.length }, 900), kept: whole },
      ...say("It failed: see the last line."), usage,
    ];
  }
  if (has("huge answer")) {
    const part = (at) => `## Part ${at}\n\nSome **words** about \`part_${at}\`, with a [link](https://example.invalid/${at}).\n\n- one\n- two\n  - three\n\n\`\`\`rust\n// part ${at}\nfn part_${at}() -> u32 { ${at} }\n\`\`\`\n\n| a | b |\n|---|---|\n| ${at} | x |\n\n`;
    const text = Array.from({ length: 560 }, (_, at) => part(at)).join("") + "The very last words.";
    return [step("round", { round: 1 }), ...(text.match(/[\s\S]{1,40}/g) ?? []).map((piece, at) => step("message", { text: piece }, at % 2 ? 5 : 0)), usage];
  }
  if (has("edit card")) {
    return [
      step("round", { round: 1 }),
      ...call("1-1", "read_file", "src/greet.py", '[lines 1-5 of 5]\n"""Greetings."""\n\ndef greet(name):\n    # a comment\n    return "hello " + name\n'),
      ...call("1-2", "edit_file", "src/greet.py", "", { summary: "src/greet.py: changed at line 3-5", diff: PATCH.slice(0, PATCH.indexOf("diff --git a/tests")) }),
      ...say("Changed.\n\n```rust\nfn main() {\n    // twice\n    println!(\"{}\", 2);\n}\n```\n"), usage,
    ];
  }
  if (has("fail")) return [step("round", { round: 1 }, 30), step("error", { message: "the provider answered 529 overloaded", code: "model" })];
  if (mode === "plan" && !has("explain")) {
    return [
      step("round", { round: 1 }, 30), step("reasoning", { text: "They want a command run. " }, 20), ...say("Let me run that."),
      step("tool_start", { call: "1-1", tool: "execute", class: "exec", summary: "ls -la", decision: "deny", rule: "chat read list", reason: "plan mode only reads, and `execute` is not on the read list" }, 60),
      step("error", { message: PLAN_REFUSED[language], code: "plan_mode" }),
    ];
  }
  if (has("broken build")) return stuck();
  if (has("slow") || has("drop")) {
    // One that is stopped by hand goes on for as long as that may take; one that is read to its end leaves time to come back.
    const words = Array.from({ length: has("explain") ? 600 : 60 }, (_, at) => `word-${at} `).join("");
    const pieces = say(words, has("explain") ? 40 : 80);
    if (has("drop")) for (const at of [8, 24]) pieces.splice(at, 0, { drop: true });
    return [step("round", { round: 1 }), ...pieces, usage];
  }
  if (tools.execute === "ask") {
    return [
      step("round", { round: 1 }), ...say("Two commands need your approval."),
      step("tool_start", { call: "1-1", tool: "execute", class: "exec", summary: "rm -r build", decision: "ask", rule: "tools.execute", reason: "execute mode asks a person about `execute`" }),
      step("interrupt", { id: "i-2", action_requests: [{ call: "1-1", name: "execute", summary: "rm -r build", reason: "execute mode asks a person about `execute`" }] }),
    ];
  }
  return [
    step("round", { round: 1 }, 30),
    ...["The greeting lives in src/greet.py. ", "First look, then change, then test."].map((text) => step("reasoning", { text }, 30)),
    step("graph", { todos: [{ text: "Look at the greeting", status: "doing" }, { text: "Add the loud option", status: "pending" }, { text: "Test it", status: "pending" }], graph: graph(["running", "pending", "pending", "pending"], "node-01") }),
    record(1, "free", "task_graph_init", "first_round", { graph: "graph-1", progress: 0 }, "strict"),
    ...call("1-1", "read_file", "src/greet.py", 'def greet(name):\n    return "hello " + name\n'),
    step("round", { round: 2 }), step("graph", { graph: graph(["done", "running", "pending", "pending"], "node-02") }), record(2, "free", "task_graph_node", "node:evidence", { node: "node-01", status: "done", progress: 25 }, "strict"),
    record(2, "takeover", "recover", "takeover:user_force_takeover", signals(["user_force_takeover", 1, 1]), "strict"),
    ...call("2-1", "edit_file", "src/greet.py", "1 hunk applied"), ...call("2-2", "write_file", "tests/test_greet.py", "4 lines written"),
    step("graph", { todos: [{ text: "Look at the greeting", status: "done" }, { text: "Add the loud option", status: "done" }, { text: "Test it", status: "doing" }], graph: graph(["done", "done", "running", "pending"], "node-03") }),
    step("round", { round: 3 }), ...call("3-1", "execute", "python -m pytest -q", "F.\n1 failed, 1 passed in 0.04s", { ok: false, exit_code: 1, duration_ms: 1240 }),
    ...call("3-2", "execute", "python -m pytest -q", "..\n2 passed in 0.04s", { duration_ms: 1180 }),
    step("graph", { todos: [{ text: "Look at the greeting", status: "done" }, { text: "Add the loud option", status: "done" }, { text: "Test it", status: "done" }], graph: graph(["done", "done", "done", "running"], "node-04") }),
    record(3, "takeover", "recover", "recover:check", { command: "python -m pytest -q" }, "strict"), record(3, "handoff_pending", "handoff", "handoff:stable", {}, "strict"),
    ...say(ANSWER, 6), usage,
  ];
}

export function resumeOf(answers, decisions) {
  if (decisions) {
    return [
      step("tool_start", { call: "1-1", tool: "execute", summary: "rm -r build", decision: decisions[0].type === "approve" ? "allow" : "deny", rule: "person", reason: decisions[0].type === "approve" ? "a person approved it" : ["a person said no", decisions[0].message].filter(Boolean).join(": ") }),
      ...(decisions[0].type === "approve" ? [step("tool_end", { call: "1-1", tool: "execute", ok: true, exit_code: 0, duration_ms: 5, output: "" })] : []),
      ...say(decisions[0].type === "approve" ? "Done." : "Then not."),
    ];
  }
  return [step("tool_end", { call: "1-1", tool: "ask_user", ok: true, duration_ms: 4000, output: (answers ?? []).join("\n") }), ...say(`You chose **${answers?.[0] ?? "nothing"}**.`), usage];
}
