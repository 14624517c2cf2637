//! Tool servers (MCP): started inside the walls, under the mode's policy, from the user's configuration alone.

use std::fs;

use holon_testkit::{TestEnv, TestWorkspace, for_each_identity};

use crate::stage::{BIN, ended, events, of_type, play};

/// A server with a tool that writes and one that says that it only reads.
const SERVER: &str = r#"
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, result = asked["method"], {}
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "notes", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        result = {"tools": [
            {"name": "add", "description": "Adds a note.", "inputSchema": schema},
            {"name": "count", "description": "Counts notes.", "inputSchema": schema,
             "annotations": {"readOnlyHint": True}}]}
    elif method == "tools/call":
        if asked["params"]["name"] == "add":
            try:
                with open("notes.txt", "a") as file:
                    file.write(asked["params"]["arguments"]["text"] + "\n")
                words = "added"
            except OSError as error:
                words = error.strerror
        else:
            words = "%d files, home %s" % (len(os.listdir(".")), os.environ["HOME"])
        result = {"content": [{"type": "text", "text": words}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

fn repo(env: &TestEnv) -> TestWorkspace {
    env.repo().file("tools/server.py", SERVER).file("a.txt", "one\n").commit("first")
}

const FLAG: [&str; 2] = ["--mcp", "notes=python3 -S tools/server.py"];

#[test]
fn a_tool_of_a_server_changes_the_snapshot() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let script = "
- tool: mcp__notes__add
  args: { text: hello }
- expect: { last: [added] }
  tool: finish
  args: { summary: Noted. }
";
        ended(env, &play(env, &repo, "execute", script, &FLAG), 0);
        let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
        assert!(patch.contains("b/notes.txt") && patch.contains("+hello"), "{patch}");
        assert!(!repo.path().join("notes.txt").exists());
    });
}

#[test]
fn inv_10_the_mode_decides_about_tools_of_servers() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let script = "
- tools:
    - mcp__notes__add: { text: evil }
    - mcp__notes__count: {}
- expect: { last: [files] }
  tool: report_plan
  args: { goal: x, context: x, steps: [{ id: a, title: a, detail: a }], risks: [x], verification: x }
- tool: finish
  args: { summary: Planned. }
";
    ended(&env, &play(&env, &repo, "plan", script, &FLAG), 0);
    let events = events(&env);
    let verdicts: Vec<&str> =
        of_type(&events, "tool_decided").iter().map(|e| e["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts[..2], ["deny", "allow"]);
}

#[test]
fn servers_come_from_the_users_file_and_a_broken_one_is_told() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.write(
        "config/holon/config.toml",
        "[mcp.notes]\ncommand = [\"python3\", \"-S\", \"tools/server.py\"]\n[mcp.gone]\ncommand = [\"no-such-program\"]\n",
    );
    let script = "
- tool: mcp__notes__count
  args: {}
- expect: { last: [files] }
  tool: finish
  args: { summary: Counted. }
";
    ended(&env, &play(&env, &repo, "ask", script, &[]), 0);
    let events = events(&env);
    let warned = of_type(&events, "warning").iter().any(|e| e["message"].as_str().unwrap().contains("gone"));
    assert!(warned, "{events:#?}");
}
