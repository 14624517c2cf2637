//! Lies planted one by one in what a run leaves behind besides its manifest, and in both at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use holon_core::digest::sha256;
use serde_json::{Value, json};

use crate::runs::{FinishedTestRun, change};

/// A lie: its name, the kind it is found as, and how it is planted.
type PlantedLie = (&'static str, &'static str, fn(&LieTarget));

/// A run that is about to be lied about.
struct LieTarget<'a> {
    folder: &'a Path,
    made: &'a FinishedTestRun,
}

impl LieTarget<'_> {
    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, bytes: &str) {
        fs::write(self.file(name), bytes).unwrap();
    }

    fn replace(&self, name: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.file(name)).unwrap();
        assert!(text.contains(old), "{name} has no {old}");
        self.write(name, &text.replacen(old, new, 1));
    }

    fn manifest(&self, lie: impl FnOnce(&mut Value)) {
        let path = self.file("output/manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        lie(&mut manifest);
        fs::write(path, serde_json::to_vec_pretty(&manifest).unwrap()).unwrap();
    }

    /// Changes an artifact and lists what it is now, so that its digest does not tell.
    fn artifact(&self, name: &str, change: impl FnOnce(String) -> String) {
        let path = self.file("output").join(name);
        let text = change(fs::read_to_string(&path).unwrap());
        fs::write(&path, &text).unwrap();
        self.manifest(|manifest| {
            let row = row(manifest, name);
            row["sha256"] = json!(sha256(text.as_bytes()));
            row["bytes"] = json!(text.len());
        });
    }

    fn touched(&self, lie: impl FnOnce(&mut Vec<Value>)) {
        let path = self.file("touched.json");
        let mut list: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        lie(&mut list);
        fs::write(path, serde_json::to_vec(&list).unwrap()).unwrap();
    }

    fn events(&self, lie: impl FnOnce(Vec<String>) -> Vec<String>) {
        let text = fs::read_to_string(self.file("evidence/events.jsonl")).unwrap();
        let lines = lie(text.lines().map(str::to_owned).collect());
        self.write("evidence/events.jsonl", &(lines.join("\n") + "\n"));
    }
}

fn row<'v>(manifest: &'v mut Value, path: &str) -> &'v mut Value {
    manifest["artifacts"].as_array_mut().unwrap().iter_mut().find(|row| row["path"] == path).unwrap()
}

const DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

const LIES: &[PlantedLie] = &[
    // Files.
    ("an artifact is edited", "digest", |p| p.write("output/summary.md", "# Other\n")),
    ("an artifact is emptied", "digest", |p| p.write("output/summary.md", "")),
    ("an artifact is removed", "artifact", |p| fs::remove_file(p.file("output/summary.md")).unwrap()),
    ("an artifact becomes a link", "output", |p| {
        fs::remove_file(p.file("output/summary.md")).unwrap();
        symlink("/etc/hostname", p.file("output/summary.md")).unwrap();
    }),
    ("an artifact becomes a pipe", "output", |p| {
        fs::remove_file(p.file("output/summary.md")).unwrap();
        let path = p.file("output/summary.md");
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("a file nobody lists", "output", |p| p.write("output/more/smuggled.txt", "x")),
    ("a link in the evidence", "output", |p| symlink("/etc/passwd", p.file("evidence/agent.txt")).unwrap()),
    ("an artifact without its form is called valid", "artifact", |p| {
        p.manifest(|m| {
            row(m, "review.json")["valid"] = json!(true);
            row(m, "review.json").as_object_mut().unwrap().remove("problems");
        });
    }),
    ("an artifact that fits is called wrong", "artifact", |p| {
        p.manifest(|m| {
            row(m, "summary.md")["valid"] = json!(false);
            row(m, "summary.md")["problems"] = json!(["it is empty"]);
        });
    }),
    ("a path that leads out", "artifact", |p| {
        p.manifest(|m| row(m, "summary.md")["path"] = json!("../run.json"))
    }),
    ("an absolute path", "artifact", |p| p.manifest(|m| row(m, "summary.md")["path"] = json!("/etc/passwd"))),
    ("the manifest vouches for itself", "artifact", |p| {
        p.manifest(|m| row(m, "summary.md")["path"] = json!("manifest.json"));
    }),
    ("what is required is called optional", "artifact", |p| {
        p.manifest(|m| row(m, "summary.md")["required"] = json!(false))
    }),
    ("what nobody required is called required", "artifact", |p| {
        p.manifest(|m| row(m, "more/note.txt")["required"] = json!(true));
    }),
    // The patch, with its digest made to fit.
    ("a line is added to the patch", "patch", |p| {
        p.artifact("diff.patch", |text| {
            text.replace("@@ -0,0 +1 @@\n+new\n", "@@ -0,0 +1,2 @@\n+new\n+and more\n")
        });
    }),
    ("another line is in the patch", "base", |p| {
        p.artifact("diff.patch", |text| text.replace("\n+new\n", "\n+evil\n"));
    }),
    ("the patch writes elsewhere", "patch", |p| {
        p.artifact("diff.patch", |text| text.replace("new.txt", "new.sh_"));
    }),
    ("a file is left out of the patch", "patch", |p| {
        p.artifact("diff.patch", |text| text[..text.rfind("diff --git").unwrap()].to_owned());
    }),
    ("the patch starts from other lines", "base", |p| {
        p.artifact("diff.patch", |text| text.replace("\n-going\n", "\n-staying\n"));
    }),
    ("the patch is emptied", "patch", |p| {
        p.artifact("diff.patch", |_| String::new());
    }),
    ("a mode bit is taken from the patch", "base", |p| {
        p.artifact("diff.patch", |text| text.replace("old mode 100644\nnew mode 100755\n", ""));
    }),
    // What it touches.
    ("a touched path is left out of both lists", "base", |p| {
        p.touched(|list| list.retain(|entry| entry["path"] != "new.txt"));
        p.manifest(|m| {
            m["metadata"]["snapshot"]["touched"].as_object_mut().unwrap().remove("new.txt");
        });
    }),
    ("a touched path too many", "patch", |p| {
        p.touched(|list| {
            list.push(
                json!({"path": "else.txt", "base": null, "result": {"mode": "100644", "sha256": DIGEST}}),
            )
        });
    }),
    ("another base in both lists", "base", |p| {
        p.touched(|list| {
            list.iter_mut().find(|e| e["path"] == "gone.txt").unwrap()["base"]["sha256"] = json!(DIGEST)
        });
        p.manifest(|m| m["metadata"]["snapshot"]["touched"]["gone.txt"] = json!(DIGEST));
    }),
    ("another result", "base", |p| {
        p.touched(|list| {
            list.iter_mut().find(|e| e["path"] == "new.txt").unwrap()["result"]["sha256"] = json!(DIGEST)
        });
    }),
    ("a result with another mode", "base", |p| {
        p.touched(|list| {
            list.iter_mut().find(|e| e["path"] == "new.txt").unwrap()["result"]["mode"] = json!("100755")
        });
    }),
    ("a new file had a base", "base", |p| {
        p.touched(|list| {
            list.iter_mut().find(|e| e["path"] == "new.txt").unwrap()["base"] =
                json!({"mode": "100644", "sha256": DIGEST})
        });
    }),
    ("the list of what is touched is gone", "base", |p| fs::remove_file(p.file("touched.json")).unwrap()),
    ("a commit that never was", "base", |p| {
        p.manifest(|m| m["metadata"]["snapshot"]["base_commit"] = json!(&DIGEST[..40]));
    }),
    ("what is no commit's id", "base", |p| {
        p.manifest(|m| m["metadata"]["snapshot"]["base_commit"] = json!("main"))
    }),
    // The end.
    ("a failure is called a success in the manifest", "verdict", |p| {
        p.events(|lines| {
            lines
                .into_iter()
                .map(|line| {
                    line.replace(
                        "\"outcome\":\"success\",\"exit_code\":0",
                        "\"outcome\":\"failure\",\"exit_code\":1",
                    )
                })
                .collect()
        });
    }),
    ("a success with an error", "error", |p| {
        p.manifest(|m| m["error"] = json!({"kind": "io", "message": "x"}))
    }),
    ("a success with a breach", "breach", |p| {
        p.manifest(|m| m["breaches"] = json!([{"kind": "out_of_scope", "detail": "x", "paths": ["a"]}]));
    }),
    ("a timeout that no limit tells of", "error", |p| {
        p.manifest(|m| {
            (m["status"], m["outcome"], m["exit_code"]) = (json!("timeout"), json!("failure"), json!(1));
            m["error"] = json!({"kind": "timeout", "message": "x"});
        });
    }),
    // Events.
    ("an event is taken out", "events", |p| {
        p.events(|mut lines| {
            lines.remove(4);
            lines
        })
    }),
    ("an event is put in", "events", |p| {
        p.events(|mut lines| {
            lines.insert(4, lines[4].clone());
            lines
        })
    }),
    ("events of another run", "events", |p| {
        p.events(|lines| {
            lines
                .into_iter()
                .enumerate()
                .map(|(n, line)| if n == 5 { line.replacen("\"run\":\"2", "\"run\":\"3", 1) } else { line })
                .collect()
        });
    }),
    ("a line that is no event", "events", |p| {
        p.events(|mut lines| {
            lines[3] = "{}".into();
            lines
        })
    }),
    ("the end is cut off", "events", |p| {
        p.events(|mut lines| {
            lines.pop();
            lines
        })
    }),
    ("there are no events", "events", |p| fs::remove_file(p.file("evidence/events.jsonl")).unwrap()),
    ("a check that failed is called passed", "check", |p| {
        p.events(|lines| {
            lines
                .into_iter()
                .map(|line| {
                    if line.contains("check_ran") {
                        line.replace("\"exit_code\":0", "\"exit_code\":1")
                    } else {
                        line
                    }
                })
                .collect()
        });
    }),
    // Checks.
    ("a check that never ran", "check", |p| {
        p.manifest(|m| {
            let checks = m["metadata"]["verification"]["checks"].as_array_mut().unwrap();
            checks.push(json!({"command": "make test", "origin": "asked", "exit_code": 0, "duration_ms": 3}));
        });
    }),
    ("a check without its output", "check", |p| fs::remove_file(p.file("evidence/check-1.log")).unwrap()),
    ("verified without a check", "check", |p| {
        p.manifest(|m| m["metadata"]["verification"]["checks"] = json!([]))
    }),
    ("a test that was weakened is not told", "check", |p| {
        p.manifest(|m| m["metadata"]["verification"]["weakened"] = json!([]));
    }),
    // Walls.
    ("a level that holds less than it is made of", "sandbox", |p| {
        p.manifest(|m| m["metadata"]["sandbox"]["enforced"]["seccomp"] = json!(false));
    }),
    ("no walls, and nobody accepted that", "decision", |p| {
        p.manifest(|m| m["metadata"]["sandbox"] = json!({"backend": "none", "level": "none", "enforced": {"workspace": "overlay", "limits": {"disk": "watched"}}}));
    }),
    ("a weaker rung that holds what only namespaces hold", "sandbox", |p| {
        p.manifest(|m| {
            (m["metadata"]["sandbox"]["backend"], m["metadata"]["sandbox"]["level"]) =
                (json!("landlock"), json!("L4"))
        });
    }),
    ("a read-only mode with a patch", "mode", |p| {
        p.manifest(|m| {
            (m["mode"], m["metadata"]["mode"]) = (json!("plan"), json!("plan"));
            m["metadata"]["workspace_access"] = json!("read-only");
            m["metadata"]["sandbox"]["enforced"]["workspace"] = json!("read-only mount");
        });
    }),
    ("a foreign agent's tools are called enforced", "sandbox", |p| {
        p.manifest(|m| m["metadata"]["sandbox"]["enforced"]["tools"] = json!(true));
    }),
    // What was given, and what was decided.
    ("another prompt", "input", |p| p.write("input/prompts/system.md", "Do as you like.\n")),
    ("another context", "input", |p| p.write("input/context/note.md", "Use spaces.\n")),
    ("context nobody handed over", "input", |p| p.write("input/context/more.md", "x\n")),
    ("the audit log is cut", "audit", |p| {
        let log = p.made.env.state().join("holon/audit.jsonl");
        fs::write(log, "").unwrap();
    }),
    ("the audit log has another entry there", "audit", |p| {
        let log = p.made.env.state().join("holon/audit.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let at = text.find("\"hash\":\"").unwrap() + 8;
        fs::write(log, format!("{}{}{}", &text[..at], &DIGEST, &text[at + 64..])).unwrap();
    }),
    ("an override nobody gave", "decision", |p| {
        p.manifest(|m| {
            m["metadata"]["ethics_override"] = json!({"reason": "because", "uid": 0});
            m["metadata"]["accepted"] =
                json!(["going out whatever the assessment says (--override-ethics): because"]);
        });
    }),
    ("a right nobody can take", "decision", |p| {
        p.manifest(|m| m["metadata"]["accepted"] = json!(["everything"]))
    }),
    ("a warning nobody gave", "warning", |p| p.manifest(|m| m["metadata"]["warnings"] = json!(["look out"]))),
    ("steps of a run that has none", "step", |p| {
        p.manifest(|m| m["metadata"]["flow"] = json!({"steps": [{"name": "plan", "state": "done"}]}));
    }),
    // Whose run it is.
    ("the record of another run", "run_id", |p| p.replace("run.json", "\"id\": \"2", "\"id\": \"1")),
    ("the record of another agent", "agent", |p| p.replace("run.json", "agent.sh", "someone.sh")),
    ("the record of another time", "time", |p| {
        p.replace("run.json", "\"started_at\": \"20", "\"started_at\": \"19")
    }),
    ("tokens nobody was told of", "usage", |p| p.manifest(|m| m["metadata"]["usage"]["input"] = json!(7))),
    ("a phase that never was", "phase", |p| {
        p.manifest(|m| {
            m["phases"]["collect"]["duration_ms"] =
                json!(m["phases"]["collect"]["duration_ms"].as_u64().unwrap() + 1)
        });
    }),
];

#[test]
fn each_planted_lie_is_found_and_named() {
    let made = change();
    made.env.leave_unverified("lies are planted in it");
    assert_eq!(made.verify(), []);
    let state = made.env.state();
    let kept = made.env.work().join("kept");
    holon_testkit::copy_tree(&state, &kept);
    assert!(LIES.len() >= 40, "{}", LIES.len());
    let mut missed = Vec::new();
    for (name, kind, plant) in LIES {
        plant(&LieTarget { folder: &made.folder, made: &made });
        let found = made.verify();
        if !found.iter().any(|lie| lie.kind.name() == *kind) {
            missed.push(format!("{name}: expected {kind}, found {found:?}"));
        }
        fs::remove_dir_all(&state).unwrap();
        holon_testkit::copy_tree(&kept, &state);
        assert_eq!(made.verify(), [], "after {name}");
    }
    assert_eq!(missed, Vec::<String>::new());
}
