import re,subprocess,sys,os
root=sys.argv[1]
M=[(r"crates/hands/src/local.rs",r"promise\.teller\(\)","promise.output_forwarder()"),
("crates/hands/src/wire/remote.rs",r"RequestPromise::teller\b","RequestPromise::output_forwarder"),
("crates/gateway/src/flow.rs",r"keys\.veil\(\)","keys.redactor()"),
("crates/gateway/src/key_redactor.rs",r"(self|keys)\.veil\(\)",r"\1.redactor()"),
("crates/gateway/src/serve/gemini/tests.rs",r"\{carrier, stream_encoder, whole\}","{carrier, reply_encoder, whole}"),
("crates/agent/src/call_policy.rs",r"self\.ask_steward\(","self.ask_supervisor_hook("),
("crates/holon/src/threads/carrier.rs",r"ChatServer::run_indoors\(","ChatServer::run_on_unix_socket("),
("crates/server/src/lib.rs",r"Self::bind_indoors\(","Self::bind_unix_socket("),
("crates/host/src/run/mod.rs",r"self\.open_mind\(","self.open_model_session("),
("crates/server/src/turn/execution.rs",r"self\.app\.mind\(","self.app.model_session("),
("crates/flow/src/orchestrate/asking.rs",r"self\.nursery\(\)","self.child_builder()"),
("crates/flow/src/orchestrate/checking.rs",r"self\.nursery\(\)","self.child_builder()"),
("crates/flow/src/orchestrate/children.rs",r"self\.nursery\(\)","self.child_builder()"),
("crates/flow/src/orchestrate/merge.rs",r"scene\.trunk\(\)","scene.merge_tree()"),
("crates/sandbox/tests/patch/snapshots.rs",r"    use SnapshotStrategyChoice as Choice;\n",""),
("crates/core/src/artifact/json_schema/read.rs",r'drop\(value\.as_u64\(\)\.ok_or_else\(\|\| need\("a whole number that is not negative"\)\)\?\)','if value.as_u64().is_none() {\nreturn Err(need("a whole number that is not negative"));\n}'),
]
for f,a,b in M:
    p=os.path.join(root,f); t=open(p).read(); n,k=re.subn(a,b,t)
    print(f,k)
    if k: open(p,"w").write(n)
