/** Everything the server can say by a code has words here; a new code fails this test until it has them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { why } from "../../src/chat/why";
import { lookUp, TABLES } from "../../src/i18n/language";

const root = new URL("../../../crates", import.meta.url).pathname;
/** A Rust file without its tests. */
const rust = (path: string) => readFileSync(join(root, path), "utf8").split("#[cfg(test)]\nmod tests")[0] ?? "";
const server = readdirSync(join(root, "server/src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".rs"))
  .map((name) => ({ name, text: rust(`server/src/${name}`) }));

/** The argument that is a code in every call like this: literals, and where something else stands. */
function arguments_(call: RegExp): { codes: string[]; passed: string[] } {
  const codes: string[] = [];
  const passed: string[] = [];
  for (const { name, text } of server)
    for (const [, argument = ""] of text.matchAll(call)) {
      const literal = /^"(\w+)"$/.exec(argument.trim());
      if (literal?.[1]) codes.push(literal[1]);
      else passed.push(`${name}: ${argument.trim()}`);
    }
  return { codes, passed };
}

const found = (path: string, pattern: RegExp) => [...rust(path).matchAll(pattern)].map((match) => match[1] ?? "");

const made = arguments_(/(?:ApiProblem|Self)::new\(\s*[\w:]+,\s*([^,]+),/g);
const conflicts = arguments_(/(?:ApiProblem|Self)::conflict\(\s*([^,]+),/g);
const problems = [...new Set([...made.codes, ...conflicts.codes, ...found("server/src/guard/request_handler.rs", /=> \{?\s*\("(\w+)",/g), ...found("server/src/api/changes.rs", /refused\(\s*"(\w+)"/g)])].sort();

const endings = arguments_(/(?<!fn |#\[)\b(?:error|last_words|failed_before)\(\s*([^,:)]+),/g);
const kinds = found("host/src/error.rs", /=> "(\w+)",/g)
  // A turn says `model` for everything that is wrong with one.
  .filter((kind) => kind !== "credentials");
const troubles = [...new Set([...endings.codes, ...kinds])].sort();

const keys = Object.keys(TABLES.en);
const CHINESE = /[\u4e00-\u9fff]/;

describe("what the server says by a code", () => {
  it("is found in its sources", () => {
    // Whoever hands a code on from somewhere else must be looked at here, and read above.
    expect(made.passed.sort()).toEqual(["guard/request_handler.rs: code", "problem.rs: code"]);
    expect(conflicts.passed).toEqual(["api/changes.rs: code"]);
    expect(endings.passed.sort()).toEqual(["turn/end.rs: code", "turn/end.rs: code", "turn/execution.rs: &problem.code", "turn/execution.rs: code", "turn/execution.rs: code"]);
    expect(rust("server/src/turn/execution.rs")).toContain('if matches!(e, HostError::Model(_)) { "model" } else { e.kind() }');
    expect(problems).toEqual(expect.arrayContaining(["bad_request", "conflict", "disk_full", "method_not_allowed", "sensitive", "turn_running", "walls"]));
    expect(troubles).toEqual(expect.arrayContaining(["cancelled", "disk_full", "internal", "max_iterations", "not_stored", "plan_mode", "snapshot"]));
  });

  it("has words for what happened, and a way on", () => {
    expect(problems.filter((code) => !keys.includes(`what.${code}`) || !keys.includes(`remedy.${code}`))).toEqual([]);
    // A turn may end with every problem that its beginning or its storing meets.
    expect(troubles.filter((code) => !keys.includes(`what.${code}`) || !(keys.includes(`trouble.${code}`) || keys.includes(`remedy.${code}`)))).toEqual([]);
  });

  it("has no words for what nobody says", () => {
    const said = new Set([...problems, ...troubles, "offline"]);
    const words = keys.filter((key) => /^(what|trouble|remedy)\./.test(key) && key !== "trouble.build").map((key) => key.split(".")[1] ?? "");
    expect([...new Set(words)].filter((code) => !said.has(code))).toEqual([]);
  });
});

describe("why a run ended", () => {
  const files = ["host/src", "flow/src"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".rs") && !name.includes("tests"))
      .map((name) => `${folder}/${name}`),
  );
  const named = [
    ...files.flatMap((path) => found(path, /ErrorInfo::new\(\s*"(\w+)"/g)),
    ...found("flow/src/deliver.rs", /\btold\("(\w+)"/g),
    ...found("flow/src/orchestrate/deliver.rs", /\berror\("(\w+)"/g),
    ...found("host/src/run/final_message.rs", /\bfailed\("(\w+)"/g),
  ];
  const limits = found("host/src/run/output.rs", /=> \("(\w+)", (?:format!|")/g);

  it("has words for every kind of error that is named in the sources", () => {
    expect(named).toEqual(expect.arrayContaining(["agent_failed", "base_moved", "findings_open", "gate", "step"]));
    expect(limits).toEqual(expect.arrayContaining(["timeout", "output_mb", "rounds"]));
    expect([...new Set([...named, ...limits])].filter((kind) => !keys.includes(`cause.${kind}`))).toEqual([]);
    expect([...kinds, "credentials"].filter((kind) => !keys.includes(`cause.${kind}`) && !keys.includes(`what.${kind}`))).toEqual([]);
  });
});

describe("why a call was decided as it was", () => {
  const rules = [
    ...found("core/src/policy/gate.rs", /rule: "([^"]+)"/g),
    ...found("core/src/policy/gate.rs", /^ +(?:format!\()?"(commands[^"]*)"/gm),
    ...found("core/src/policy/mod.rs", /ToolVerdict::\w+, "([^"]+)"\.to_owned\(\)\)/g),
    ...found("core/src/policy/mod.rs", /\(\w+(?:\(class\))?, format!\("([^"]+)"\)\)/g),
    ...found("agent/src/call_policy.rs", /\bdeny\("([^"]+)"/g),
    ...found("agent/src/call_policy.rs", /rule: "([^"]+)"\.to_owned\(\)/g),
  ];

  it("is told in every language by the rule", () => {
    expect([...new Set(rules)].sort()).toEqual([
      "arguments", "chat read list", "class control", "class {class}", "commands", "commands.allow", "commands.deny `{pattern}`", "not offered", "person", "supervisor", "tools.{entry}",
    ]);
    const zh = { language: "zh", known: (prefix: string, code: string) => lookUp("zh", `${prefix}.${code}`) } as const;
    for (const rule of rules)
      for (const decision of ["allow", "ask", "deny"] as const) expect(why(zh, { tool: "execute", decision, rule, reason: "a reason" }).text, rule).toMatch(CHINESE);
  });
});
