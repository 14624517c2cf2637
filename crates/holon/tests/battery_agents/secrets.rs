//! What can be seen and reached from inside, tried with the agents' own tools.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, OnceLock};

use holon_model::cassette::{CassetteStep, CassetteTurn};

use crate::stage::{ALL, KEY, LAST_WORDS, ModelPart, RealAgentStage, ScriptedToolCall, call};

/// Everything a tool can look through for a key.
const LOOK: &str = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; \
                    grep -rIl sk-real-key /holon /tmp /etc /run /var 2>/dev/null; ls -la ~ /root /home 2>&1; echo looked";

#[test]
fn inv_06_no_agent_sees_the_real_key() {
    for agent in ALL {
        let Some(stage) = RealAgentStage::set(agent, ModelPart::new(&[LOOK], LAST_WORDS)) else { continue };
        stage
            .run("execute", &[])
            .env("ANTHROPIC_API_KEY", KEY)
            .env("OPENAI_API_KEY", KEY)
            .run()
            .assert_code(0);
        let asked = stage.asked();
        assert!(asked.contains("looked"), "{agent} did not look");
        assert!(asked.contains("holon-"), "{agent} has no placeholder");
        assert!(!asked.contains(KEY), "{agent} found the key");
        // The key is what the provider gets, and the placeholder never leaves.
        for seen in stage.seen.lock().unwrap().iter() {
            let shown = seen.header("x-api-key").or(seen.header("authorization")).unwrap_or_default();
            assert!(shown.ends_with(KEY), "{agent}: {shown}");
        }
        for run in stage.env.runs() {
            let found = std::process::Command::new("grep").args(["-rIl", KEY]).arg(&run).output().unwrap();
            assert!(
                found.stdout.is_empty(),
                "{agent} left the key in {}",
                String::from_utf8_lossy(&found.stdout)
            );
        }
    }
}

/// Tries to reach ports of the host, addresses elsewhere, names, and the gateway without its token.
fn reach(ports: [u16; 2]) -> String {
    let [own, model] = ports;
    format!(
        "python3 - <<'E'\n\
         import socket\n\
         targets = [('127.0.0.1', {own}), ('127.0.0.1', {model}), ('10.0.0.1', 80), ('169.254.169.254', 80),\n\
         ('1.1.1.1', 53), ('::1', {own})]\n\
         for host, port in targets:\n\
         \x20   try:\n\
         \x20       socket.create_connection((host, port), timeout=2); print('REA' + 'CHED', host, port)\n\
         \x20   except OSError as e: print('closed', host, port)\n\
         try: socket.getaddrinfo('example.com', 80); print('REA' + 'CHED names')\n\
         except OSError: print('closed names')\n\
         s = socket.create_connection(('127.0.0.1', 8001), timeout=2)\n\
         s.sendall(b'GET /v1/models HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'); print('gateway says', s.recv(20))\n\
         E"
    )
}

#[test]
fn inv_06_no_agent_reaches_anything_but_the_gateway() {
    for agent in ALL {
        // Something of the host's own, and the model itself, which only the gateway may ask.
        let own = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = own.local_addr().unwrap().port();
        let (name, model) = (agent.to_owned(), Arc::new(OnceLock::new()));
        let known = Arc::clone(&model);
        let Some(stage) = RealAgentStage::with(agent, move |round, _| match round {
            0 => {
                let deed = ScriptedToolCall::Shell(reach([port, *known.get().unwrap()]));
                CassetteTurn {
                    steps: vec![CassetteStep::Call(call(&name, &deed))],
                    ..CassetteTurn::default()
                }
                .into()
            }
            _ => CassetteTurn::text(LAST_WORDS).into(),
        }) else {
            continue;
        };
        let base = stage.server.base();
        let at = base.rsplit_once(':').unwrap().1.split('/').next().unwrap();
        model.set(at.parse::<u16>().unwrap()).unwrap();
        stage.run("execute", &[]).run().assert_code(0);
        let asked = stage.asked();
        assert!(
            asked.contains("closed names") && asked.contains(&format!("closed 127.0.0.1 {at}")),
            "{agent} did not try: {asked}"
        );
        assert!(!asked.contains("REACHED"), "{agent} got out");
        assert!(
            asked.contains("gateway says b'HTTP/1.1 401"),
            "{agent}: without the token the gateway must refuse"
        );
        own.set_nonblocking(true).unwrap();
        assert!(own.accept().is_err(), "{agent} reached the host");
    }
}
