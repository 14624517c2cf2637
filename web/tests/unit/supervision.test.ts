/** Whatever the supervisor records has a sentence in every language; a new reason fails this test until it has one. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Recorded } from "../../src/conversation/view";
import { fill, lookUp, TABLES, type Key, type Language } from "../../src/i18n/language";
import { isStep, sentence, telling } from "../../src/panel/supervision-words";

const root = new URL("../../../crates/supervisor/src", import.meta.url).pathname;
const sources = new Map(
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".rs") && !/tests|scene\.rs/.test(name))
    .map((name) => [name, readFileSync(join(root, name), "utf8").split("#[cfg(test)]")[0] ?? ""]),
);
const all = [...sources.values()].join("\n");
const rust = (name: string) => sources.get(name) ?? "";
const found = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ""))].sort();
/** The variants of an enum, as they are stored. */
const variants = (name: string, type: string) => {
  const text = rust(name);
  const body = text.slice(text.indexOf(`pub enum ${type} {`)).split("\n}")[0] ?? "";
  return found(body, /^ {4}(\w+),$/gm).map((variant) => variant.replace(/(?!^)([A-Z])/g, "_$1").toLowerCase());
};

const speak = (language: Language) => ({
  t: (key: Key, values?: Record<string, string | number>) => fill(TABLES[language][key], values),
  named: (prefix: string, name: string) => lookUp(language, `${prefix}.${name}`) ?? name.replaceAll("_", " "),
  known: (prefix: string, code: string) => lookUp(language, `${prefix}.${code}`),
});
const recorded = (event: string, reason: string, payload: unknown = {}, step: string | null = null, round = 12): Recorded => ({
  record: { ts: 1, run: "20261117-100000-aaaaaa", round, level: "adaptive", mode: "free", phase: "free", event, reason, payload }, step,
});
const signals = (...list: [string, number][]) => ({ signals: list.map(([signal, value]) => ({ signal, value, threshold: 1 })) });

/** Everything that any record holds: each sentence takes its own. */
const FACTS = {
  command: "make test", tool: "execute", progress: 50, most_rounds: 12, node: "node-01", call: "7-1", graph: "graph-1", branch: "fallback-1", cases: ["a is good"], why: "`make test` failed 3 times",
  reason: "the recovery budget is spent (rounds): 8 rounds, 5120 tokens", ...signals(["no_progress", 5]),
};

// Reasons by the places that make them.
const SIGNALS = [
  ...found(rust("signal.rs"), /^ {4}[A-Z]\w+: (\w+) = \d/gm),
  ...found(rust("signal.rs"), /Self::[A-Z]\w+ => "(\w+)"/g),
].sort();
const SPENT = found(rust("phase.rs"), /(?:Some|then_some)\("(\w+)"\)/g);
const HANDOFFS = found(rust("phase.rs"), /"(handoff:\w+)"/g);
const NODES = found(rust("graph/advance.rs"), /(?:complete\(evidence|skip|fail_verify|give_up|go_back\(\w+|set\(NodeStatus::\w+)[,(]\s*"(\w+)"/g);
const BRANCHES = found(rust("graph/advance.rs"), /give_up\("(\w+)"/g);
const STATUSES = variants("graph.rs", "NodeStatus");
const RULES = variants("effect.rs", "GateRule");
const STOPS = variants("effect.rs", "StopKind");
const PLANS = found(rust("reducer/plan.rs"), /"(first_round|template_graph|strong_hint)"/g);
const KINDS = variants("timeline.rs", "TimelineKind");
const WHOLE = found(all, /"([a-z_]+:[a-z_]+)"/g);
const PLAIN = found(all, /self\.log\(\s*TimelineKind::\w+,\s*"(\w+)",/g);
const OF_SHADOWS = found(rust("shadow.rs"), /\("(\w+)"\.to_owned\(\)/g);

const REASONS = [
  ...WHOLE, ...PLAIN, ...PLANS,
  ...["drift", "notice", "advice", "takeover"].flatMap((family) => SIGNALS.map((signal) => `${family}:${signal}`)),
  ...SPENT.map((what) => `recovery_budget:${what}`), ...BRANCHES.map((what) => `branch:${what}`), ...NODES.map((what) => `node:${what}`),
  "user_force_takeover:refused:off", "user_force_takeover:refused:stopped",
];
const SHADOWS = [...OF_SHADOWS, ...REASONS.filter((reason) => /^(drift|takeover|handoff|user_force_takeover):/.test(reason))].map((reason) => `shadow:${reason}`);

describe("the supervisor's reasons", () => {
  it("are found in its sources", () => {
    // Every way a reason is made; a new one must be looked at here, and read above.
    const made = found(all, /(?:self\.log|self\.stop|self\.stop_as)\(\s*((?:[^;]|\n)*?)\)\s*;/g)
      .flatMap((call) => [...call.matchAll(/&?format!\("([^"]*)"/g)].map((match) => match[1]))
      .filter((text) => text?.includes(":"));
    expect([...new Set(made)].sort()).toEqual(["branch:{reason}", "drift:{}", "node:{reason}", "recovery_budget:{what}", "user_force_takeover:refused:{reason}", "{rung}:{first}"]);
    expect(rust("phase.rs")).toContain('format!("takeover:{why}")');
    expect(rust("shadow.rs")).toContain('format!("shadow:{reason}")');
    expect(rust("reducer/takeover.rs")).toContain('if stage == EscalationStage::Noticed { "notice" } else { "advice" }');
    expect(rust("reducer/takeover.rs")).toContain('if level.speaks() { "stopped" } else { level.name() }');
    expect(PLAIN).toEqual(["checkpoint_resumed", "engine_fail_safe"]);
    const others = found(all, /self\.log\(\s*TimelineKind::\w+,\s*([^,]+),/g).filter((argument) => !/^"|format!/.test(argument));
    expect(others).toEqual(["how", 'if blocked { "gate:block" } else { "gate:warn" }', 'if done { "graph:done" } else { "graph:failed" }', "reason"]);
    expect(found(all, /self\.log\(event, ([^,]+),/g)).toEqual(["&format!(\"node:{reason}\")", "&reason", "cause"]);
    expect([SIGNALS.length, SPENT, HANDOFFS.length, BRANCHES]).toEqual([9, ["relapses", "rounds", "tokens"], 5, ["edit_failed", "verify_failed"]]);
    expect(NODES).toEqual(["budget", "check_failed", "current", "edit_failed", "evidence", "more_to_do", "other_branch", "proven_before", "stale", "verify_failed"]);
    expect(WHOLE).toHaveLength(22);
    expect(OF_SHADOWS).toEqual(["check", "correction", "gate", "graph", "stop"]);
    expect(PLANS).toEqual(["first_round", "strong_hint", "template_graph"]);
    expect([STATUSES, RULES, STOPS, KINDS].map((list) => list.length)).toEqual([5, 6, 3, 13]);
  });

  const languages = Object.keys(TABLES) as Language[];
  it.each(languages)("each have a sentence in %s, without a name that only the server knows", (language) => {
    const payloads = [{}, ...RULES.map((rule) => ({ rule })), ...STOPS.map((stop) => ({ stop })), ...STATUSES.map((status) => ({ status })), { git: "conflict" }, { cases: [] }, { kind: "silence" }, { kind: "advice" }, { verdict: "block" }, { verdict: "warn" }];
    for (const reason of [...REASONS, ...SHADOWS])
      for (const variant of payloads)
        for (const step of ["verify", null]) {
          // A step that used up its rounds can only have ended.
          if (reason === "node:budget" && !("status" in variant && ["done", "failed", "skipped"].includes(variant.status))) continue;
          const said = sentence(speak(language), recorded("switch", reason, { ...FACTS, ...variant }, step));
          expect(said.reason, `${reason} ${JSON.stringify(variant)}`).toBeNull();
          expect(said.text, reason).not.toMatch(/[{}]|node-|graph-|7-1|fallback-1|20261117|undefined|\w_\w/);
          if (language === "zh") expect(said.text, reason).toMatch(/^第 12 轮：.*[\u4e00-\u9fff].*[。）]$/);
          else expect(said.text, reason).toMatch(/^Round 12: .*[.)]$/);
        }
    for (const kind of KINDS) expect(lookUp(language, `event.${kind}`), kind).not.toBeNull();
    for (const level of found(rust("level.rs"), /Self::\w+ => "(\w+)"/g)) expect(lookUp(language, `level.${level}`), level).not.toBeNull();
    for (const phase of ["free", "takeover", "handoff_pending", "cooldown"]) expect(lookUp(language, `phase.${phase}`)).not.toBeNull();
  });

  it("have no words that no reason needs", () => {
    const known = new Set([...REASONS.filter((reason) => !/^(drift|notice|advice|takeover):/.test(reason)), ...OF_SHADOWS.map((name) => `shadow:${name}`)].map((reason) => reason.replaceAll(":", ".")));
    const extra = Object.keys(TABLES.en)
      .filter((key) => key.startsWith("did."))
      .map((key) => key.slice("did.".length))
      .filter((code) => !known.has(code) && !known.has(code.slice(0, code.lastIndexOf("."))) && !["drift", "notice", "advice", "takeover"].includes(code));
    expect(extra).toEqual([]);
    expect(Object.keys(TABLES.en).filter((key) => key.startsWith("seen.")).map((key) => key.slice("seen.".length)).sort()).toEqual(SIGNALS);
  });
});

describe("a sentence", () => {
  const says = (one: Recorded, en: string, zh: string) => expect([sentence(speak("en"), one).text, sentence(speak("zh"), one).text]).toEqual([en, zh]);

  it("says what was noticed, on which facts, and what was done", () => {
    says(
      recorded("switch", "notice:tool_repeat_fail", signals(["tool_repeat_fail", 3])),
      "Round 12: the same failure came 3 times and no file changed in between; told the agent so.",
      "第 12 轮：同样的失败出现了 3 次，其间没有任何文件改动；已告知智能体。",
    );
    says(
      recorded("recover", "takeover:file_loop", signals(["no_progress", 6], ["file_loop", 4])),
      "Round 12: 6 rounds in a row brought nothing new, and a check failed 4 times as before, although files changed in between; took the lead.",
      "第 12 轮：连续 6 轮没有带来任何新信息，并且文件虽有改动，检查仍以同样的方式失败了 4 次；监督器已接管。",
    );
    says(recorded("drift", "drift:budget_ending", { signal: "budget_ending", value: 80, threshold: 80 }, null, 0), "Before the first round: 80 % of the rounds or tokens is used; made a note of it.", "第一轮之前：轮数或 Token 已用去 80 %；已记录。");
    says(recorded("timeout", "recovery_budget:tokens", FACTS), "Round 12: the takeover used 5120 tokens without progress; stopped for a person.", "第 12 轮：接管已用 5120 个 Token 而没有进展；已停止，等待人工处理。");
    says(recorded("failure", "gate:block", { rule: "futile", tool: "execute", why: "Not executed: `make test` failed 3 times with exit code 2." }), "Round 12: `make test` had failed 3 times in the same way and nothing had changed since; did not run it this once.", "第 12 轮：`make test` 已以同样方式失败 3 次，其间没有任何改动；这一次未运行。");
    says(recorded("task_graph_node", "node:stale", { node: "node-03", status: "pending" }, "verify"), "Round 12: files changed after the check had passed; opened the step “Verify” again.", "第 12 轮：检查通过后文件又有改动；已重新打开步骤“验证”。");
    says(recorded("shadow_diagnostic", "shadow:check", { command: "make test" }), "Round 12: would have run `make test`. (As a shadow: nothing of this was done.)", "第 12 轮：本会运行 `make test`。（影子模式：以上均未执行。）");
  });

  it("falls back to the event's word and the reason, for what nobody knows and where the facts are missing", () => {
    for (const [reason, payload] of [["heard_of:nothing", {}], ["notice:heard_of_nothing", signals(["no_progress", 5])], ["notice:no_progress", null], ["recover:check", { command: 5 }], ["shadow:heard_of:nothing", []]] as const)
      expect(sentence(speak("en"), recorded("switch", reason, payload))).toEqual({ text: "Round 12: switched", reason, detail: null });
  });

  it("shows the text of others as text, and what the server says besides", () => {
    expect(sentence(speak("en"), recorded("recover", "recover:check", { command: "a `b`\u202e" })).text).toContain("ran `a 'b'⟨U+202E⟩`.");
    expect(sentence(speak("en"), recorded("recover", "recover:template_graph", { cases: ["`make x` (no)", "a`b"] })).text).toContain("these fail: `make x` (no), a'b; ");
    expect(sentence(speak("zh"), recorded("failure", "verification:not_yet", { why: "Not verified: 1 changed file" })).detail).toBe("Not verified: 1 changed file");
    expect(sentence(speak("en"), recorded("shadow_diagnostic", "shadow:correction", { kind: "advice", text: "x".repeat(900) })).detail).toHaveLength(241);
  });
});

describe("the list", () => {
  it("leaves out what a later record of the round says with what was done, or why", () => {
    const drift = (signal: string, round: number) => recorded("drift", `drift:${signal}`, { signal, value: 5 }, null, round);
    const list = [drift("no_progress", 5), drift("malformed", 5), recorded("switch", "notice:no_progress", signals(["no_progress", 5]), null, 5), drift("file_loop", 7), recorded("switch", "advice:file_loop", signals(["file_loop", 5]), null, 8)];
    expect(telling(list).map(({ record }) => record.reason)).toEqual(["drift:malformed", "notice:no_progress", "drift:file_loop", "advice:file_loop"]);
    const plans = [recorded("task_graph_init", "first_round"), recorded("task_graph_init", "template_graph"), recorded("recover", "recover:template_graph"), recorded("task_graph_init", "strong_hint")];
    expect(telling(plans).map(({ record }) => record.reason)).toEqual(["first_round", "recover:template_graph", "strong_hint"]);
  });

  it("tells steps of the plan from the rest", () => {
    expect([isStep(recorded("rollback", "node:stale")), isStep(recorded("rollback", "checkpoint_resumed:stop_lifted"))]).toEqual([true, false]);
  });
});
