//! Ways into a server that is not one's own: none leads in.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use holon_testkit::{ORDINARY_UID, TestIdentity, current_test, for_each_identity, skip_security};
use serde_json::json;

use crate::http::{learn, send, send_as, token};
use crate::stage::{BIN, ServeStage};

/// What an answer holds that only the owner may see.
const SECRET: &str = "only-for-its-owner";

/// Sends bytes as they are and gives everything that comes back.
fn raw(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(request.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A thread whose name gives away that somebody could read the owner's threads.
fn owned(stage: &ServeStage) -> String {
    let thread = stage.thread();
    stage.say(&thread, SECRET, "plan");
    let list = stage.get("/api/threads").text();
    assert!(list.contains(SECRET), "the owner sees it: {list}");
    thread
}

fn cookie(stage: &ServeStage) -> String {
    let answer = send(stage.port, "POST", "/api/session", &[], b"");
    assert_eq!(answer.status, 204);
    let set = answer.header("set-cookie").unwrap().to_owned();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

/// One way to try, as the lines of a request behind `ForgeConnection: close`.
struct WayIn {
    name: &'static str,
    line: String,
    headers: Vec<String>,
}

fn way(name: &'static str, line: impl Into<String>, headers: &[String]) -> WayIn {
    WayIn { name, line: line.into(), headers: headers.to_vec() }
}

/// Everything a program or a page without the token can send.
fn ways(port: u16, token: &str, cookie: &str, thread: &str) -> Vec<WayIn> {
    let get = "GET /api/threads HTTP/1.1";
    let host = format!("host: 127.0.0.1:{port}");
    let here = |more: &str| [host.clone(), more.to_owned()];
    let bearer = format!("authorization: Bearer {token}");
    let signed = format!("cookie: {cookie}");
    let value = cookie.split_once('=').unwrap().1;
    let apply = format!("POST /api/threads/{thread}/apply HTTP/1.1");
    let all = |more: &[&str]| {
        let mut lines = vec![host.clone()];
        lines.extend(more.iter().map(|line| (*line).to_owned()));
        lines
    };
    vec![
        way("no token", get, &[host.clone()]),
        way("no token, another method", "HEAD /api/threads HTTP/1.1", &[host.clone()]),
        way("no token, applying", &apply, &all(&["content-type: application/json"])),
        way("an empty token", get, &here("authorization: Bearer ")),
        way("a guessed token", get, &here(&format!("authorization: Bearer {}", "0".repeat(48)))),
        way("a token cut short", get, &here(&format!("authorization: Bearer {}", &token[..47]))),
        way("a token with more behind it", get, &here(&format!("{bearer}0"))),
        way(
            "a token in other letters",
            get,
            &here(&format!("authorization: Bearer X{}", token[1..].to_uppercase())),
        ),
        way("another scheme", get, &here(&format!("authorization: Basic {token}"))),
        way("no scheme", get, &here(&format!("authorization: {token}"))),
        way("the token in another header", get, &here(&format!("x-api-key: {token}"))),
        way(
            "the token in the query of the API",
            format!("GET /api/threads?token={token} HTTP/1.1"),
            &[host.clone()],
        ),
        way(
            "the token under another name",
            format!("GET /api/threads?access_token={token} HTTP/1.1"),
            &[host.clone()],
        ),
        way(
            "the token in the query of a file",
            format!("GET /assets/x?token={token} HTTP/1.1"),
            &[host.clone()],
        ),
        way(
            "the token in the query of the numbers",
            format!("GET /metrics?token={token} HTTP/1.1"),
            &[host.clone()],
        ),
        way("the token as a cookie", get, &here(&format!("cookie: token={token}"))),
        way("the token as our cookie", get, &here(&format!("cookie: holon_session_{port}={token}"))),
        way("a guessed cookie", get, &here(&format!("cookie: holon_session_{port}={}", "0".repeat(48)))),
        way("an empty cookie", get, &here(&format!("cookie: holon_session_{port}="))),
        way("a cookie of another port", get, &here(&format!("cookie: holon_session_{}={value}", port ^ 1))),
        way("a cookie without its port", get, &here(&format!("cookie: holon_session={value}"))),
        way(
            "a wrong token beside the right cookie",
            get,
            &all(&["authorization: Bearer 0000000000000000", &signed]),
        ),
        way("no name", get, &[bearer.clone()]),
        way("another name", get, &["host: evil.example".into(), bearer.clone()]),
        way("another name that leads here", get, &[format!("host: evil.example:{port}"), bearer.clone()]),
        way(
            "another name that leads here, with the cookie",
            get,
            &[format!("host: rebound.example:{port}"), signed.clone()],
        ),
        way(
            "a name that looks like ours",
            get,
            &[format!("host: localhost.evil.example:{port}"), signed.clone()],
        ),
        way("another port's name", get, &[format!("host: 127.0.0.1:{}", port ^ 1), signed.clone()]),
        way("two names", get, &[host.clone(), "host: evil.example".into(), bearer.clone()]),
        way(
            "a whole address of another name",
            "GET http://evil.example/api/threads HTTP/1.1",
            &here(&bearer),
        ),
        way(
            "a name that a proxy would tell",
            get,
            &all(&["x-forwarded-host: localhost", "x-forwarded-for: 127.0.0.1", "x-forwarded-user: local"]),
        ),
        way("another page", get, &all(&["origin: http://evil.example", &signed])),
        way("a page without a name", get, &all(&["origin: null", &signed])),
        way(
            "a page of another port",
            get,
            &all(&[&format!("origin: http://127.0.0.1:{}", port ^ 1), &signed]),
        ),
        way("a page of another port that says nothing", get, &all(&["sec-fetch-site: same-site", &signed])),
        way(
            "an image of another page",
            get,
            &all(&["sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", &signed]),
        ),
        way(
            "a form of another page",
            &apply,
            &all(&["origin: http://evil.example", "content-type: text/plain", &signed]),
        ),
        way(
            "a form that says nothing",
            &apply,
            &all(&["content-type: application/x-www-form-urlencoded", &signed, "content-length: 0"]),
        ),
        way(
            "a web socket of another page",
            get,
            &all(&["origin: http://evil.example", "upgrade: websocket", "connection: upgrade", &signed]),
        ),
        way(
            "events for another page",
            format!("GET /api/chat/{thread}/events HTTP/1.1"),
            &all(&["origin: http://evil.example", "accept: text/event-stream", &signed]),
        ),
        way(
            "events without a token",
            format!("GET /api/chat/{thread}/events HTTP/1.1"),
            &here("accept: text/event-stream"),
        ),
        way(
            "leave for another page",
            "OPTIONS /api/threads HTTP/1.1",
            &all(&["origin: http://evil.example", "access-control-request-method: GET", &signed]),
        ),
        way("another way to write the path", "GET //api/threads HTTP/1.1", &[host.clone()]),
        way("a path with dots", "GET /assets/../api/threads HTTP/1.1", &[host.clone()]),
        way("a path in percent signs", "GET /%61pi/threads HTTP/1.1", &[host.clone()]),
        way("a path in capitals", "GET /API/threads HTTP/1.1", &[host.clone()]),
        way(
            "another method by a header",
            "GET / HTTP/1.1",
            &all(&["x-http-method-override: GET", "x-original-url: /api/threads"]),
        ),
        way("the numbers", "GET /metrics HTTP/1.1", &[host.clone()]),
        way("a ticket that was never given", "GET /?ticket=0 HTTP/1.1", &[host.clone()]),
        way("a wrong token at the entrance", format!("GET /?token={} HTTP/1.1", &token[1..]), &[host]),
    ]
}

/// What came in: the owner's words, a cookie, or leave for another page.
fn leads_in(answer: &str) -> bool {
    let head = answer.split("\r\n\r\n").next().unwrap_or_default().to_lowercase();
    let numbers = answer.contains("mode_invocations_total") || answer.contains("\"applied\"");
    answer.contains(SECRET) || numbers || head.contains("set-cookie") || head.contains("access-control-allow")
}

#[test]
fn no_request_without_the_token_leads_in() {
    let stage = ServeStage::playing(&format!("- text: {SECRET}\n"));
    let thread = owned(&stage);
    let (token, cookie) = (token(stage.port).unwrap(), cookie(&stage));
    let right = [("cookie", cookie.as_str())];
    assert!(
        send_as(stage.port, "GET", "/api/threads", &right, b"").text().contains(SECRET),
        "the cookie is right"
    );
    let all = ways(stage.port, &token, &cookie, &thread);
    assert!(all.len() >= 40, "{}", all.len());
    for WayIn { name, line, headers } in &all {
        let answer =
            raw(stage.port, &format!("{line}\r\nconnection: close\r\n{}\r\n\r\n", headers.join("\r\n")));
        assert!(!answer.is_empty() && !leads_in(&answer), "{name}: {answer}");
    }
    let old = raw(stage.port, "GET /api/threads HTTP/1.0\r\n\r\n");
    assert!(!leads_in(&old), "{old}");
}

#[test]
fn what_is_over_leads_in_no_more() {
    let mut stage = ServeStage::playing(&format!("- text: {SECRET}\n"));
    owned(&stage);
    let (old, cookie) = (token(stage.port).unwrap(), cookie(&stage));
    let ask = |port: u16, header: (&str, &str)| send_as(port, "GET", "/api/threads", &[header], b"").status;
    let signed = ("cookie", cookie.as_str());
    assert_eq!(ask(stage.port, signed), 200);
    let out = send_as(stage.port, "DELETE", "/api/session", &[signed], b"");
    assert_eq!((out.status, out.header("set-cookie").unwrap().contains("Max-Age=0")), (204, true));
    assert_eq!(ask(stage.port, signed), 401, "signed out");

    // The owner comes in by the address that was printed, once for each browser, and is led to one without the token.
    let entered = send_as(stage.port, "GET", &format!("/?token={old}"), &[], b"");
    assert_eq!((entered.status, entered.header("location")), (303, Some("/")));
    let pair = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(ask(stage.port, ("cookie", &pair)), 200);

    // Started again, the token is the same; with another one the first is worth nothing.
    let bearer = format!("Bearer {old}");
    stage.kill();
    stage.start();
    assert_eq!(ask(stage.port, ("authorization", &bearer)), 200, "the token was kept");
    assert_eq!(ask(stage.port, ("cookie", &pair)), 401, "a cookie of the server before");
    stage.kill();
    let root = stage.repo.path().to_str().unwrap().to_owned();
    let args = ["serve", "--listen", "127.0.0.1:0", "--new-token", "--root", &root];
    let mut running = stage.env.holon(args).spawn();
    running.wait_for_text("holon is at ");
    let port = learn(&running.stdout_so_far());
    assert_ne!(token(port).unwrap(), old);
    assert_eq!(ask(port, ("authorization", &bearer)), 401, "an old token");
}

#[test]
fn the_token_is_on_no_command_line_and_for_nobody_elses_eyes() {
    let stage = ServeStage::playing("- text: hi\n");
    let token = token(stage.port).unwrap();
    let pid = stage.server.as_ref().unwrap().pid();
    for what in ["cmdline", "environ"] {
        let bytes = std::fs::read(format!("/proc/{pid}/{what}")).unwrap();
        assert!(!bytes.windows(token.len()).any(|part| part == token.as_bytes()), "{what}");
    }
    let kept = stage.env.state().join("holon/server/token");
    let mode = std::os::unix::fs::MetadataExt::mode(&kept.metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
    drop(stage.server);
    // A file that others could read is not believed, and neither is one that was given.
    std::fs::set_permissions(&kept, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let root = stage.repo.path().to_str().unwrap().to_owned();
    let refused = stage.env.holon(["serve", "--listen", "127.0.0.1:0", "--root", &root]).run();
    refused
        .assert_code(64)
        .assert_stderr("can be read or changed by others than you")
        .assert_stderr("--new-token");
    let given = stage.env.write("work/open", "ann ann-ann-ann-ann-1\n");
    std::fs::set_permissions(&given, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let args = ["serve", "--listen", "127.0.0.1:0", "--root", &root, "--tokens", given.to_str().unwrap()];
    stage.env.holon(args).run().assert_code(64).assert_stderr("chmod 600");
}

/// Runs a script of the shell as another user of this machine.
fn as_somebody_else(script: &str, words: &[&str]) -> String {
    let mut command = Command::new("bash");
    command.args(["-c", script, "somebody"]).args(words).current_dir("/").env_clear();
    command.env("PATH", "/usr/bin:/bin").uid(ORDINARY_UID + 1).gid(ORDINARY_UID + 1);
    let output = command.stdin(Stdio::null()).output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn another_user_of_the_machine_gets_nowhere_even_with_the_token() {
    if TestIdentity::current() != TestIdentity::Root {
        return skip_security(&current_test(), "only root can play another user");
    }
    for_each_identity(BIN, |env| {
        let tape = env.write("work/chat.yaml", &format!("- text: {SECRET}\n"));
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        let root = repo.path().to_str().unwrap();
        let args = ["serve", "--listen", "127.0.0.1:0", "--root", root, "--replay", tape.to_str().unwrap()];
        let mut server = env.holon(args).spawn();
        server.wait_for_text("holon is at ");
        let port = learn(&server.stdout_so_far());
        let token = token(port).unwrap();
        let body = json!({"workspace": root}).to_string();
        let made =
            send(port, "POST", "/api/threads", &[("content-type", "application/json")], body.as_bytes());
        assert_eq!(made.status, 201);
        let (number, pid) = (port.to_string(), server.pid().to_string());
        let socket = env.state().join("holon/server/socket");
        let ask = "exec 3<>/dev/tcp/127.0.0.1/$1 && printf 'GET %s HTTP/1.1\\r\\nhost: localhost:%s\\r\\nconnection: close\\r\\n%s\\r\\n\\r\\n' \"$3\" $1 \"$2\" >&3; cat <&3";
        let bearer = format!("authorization: Bearer {token}");
        let signed = send(port, "POST", "/api/session", &[], b"").header("set-cookie").unwrap().to_owned();
        let signed = format!("cookie: {}", signed.split(';').next().unwrap());
        for (header, path) in [
            ("x: y", "/api/threads"),
            (bearer.as_str(), "/api/threads"),
            (signed.as_str(), "/api/threads"),
            (bearer.as_str(), "/metrics"),
            ("x: y", &format!("/?token={token}")),
            ("x: y", "/"),
        ] {
            let said = as_somebody_else(ask, &[&number, header, path]);
            assert!(
                said.starts_with("HTTP/1.1 403") && said.contains("another user account"),
                "{path}: {said}"
            );
        }
        for script in [
            "cat \"$1\"/token",
            "cat /proc/$2/environ | tr '\\0' '\\n'",
            "cat /proc/$2/fd/* 2>&1; ls -l /proc/$2/fd",
            "cat /proc/$2/cmdline | tr '\\0' ' '",
            "ls \"$1\"",
            "perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Peer => \"$ARGV[0]/socket\") or die \"no way\\n\"; print $s \"GET /api/threads HTTP/1.0\\r\\n\\r\\n\"; print <$s>' \"$1\"",
        ] {
            let folder = socket.parent().unwrap().to_str().unwrap();
            let said = as_somebody_else(script, &[folder, &pid]);
            assert!(!said.contains(&token) && !said.contains("\"threads\""), "{script}: {said}");
        }
        // Who it belongs to comes in all the same.
        assert_eq!(send(port, "GET", "/api/threads", &[], b"").status, 200);
    });
}

#[test]
fn an_agent_with_the_hosts_network_does_not_get_in() {
    for_each_identity(BIN, |env| {
        let tape = env.write("work/chat.yaml", "- text: hi\n");
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        let root = repo.path().to_str().unwrap().to_owned();
        let args = ["serve", "--listen", "127.0.0.1:0", "--root", &root, "--replay", tape.to_str().unwrap()];
        let mut server = env.holon(args).spawn();
        server.wait_for_text("holon is at ");
        let port = learn(&server.stdout_so_far());
        let token = token(port).unwrap();
        let json = [("content-type", "application/json")];
        let body = json!({"workspace": root}).to_string();
        let made = send(port, "POST", "/api/threads", &json, body.as_bytes()).json();
        let thread = made["id"].as_str().unwrap();
        let server_folder = env.state().join("holon/server");
        let script = format!(
            "#!/bin/bash\n\
             ask() {{ exec 3<>/dev/tcp/127.0.0.1/{port} || return; printf '%s %s HTTP/1.1\\r\\nhost: localhost:{port}\\r\\nconnection: close\\r\\ncontent-type: application/json\\r\\ncontent-length: 2\\r\\n%s\\r\\n{{}}' \"$1\" \"$2\" \"$3\" >&3; cat <&3; echo; }}\n\
             {{\n\
             ask GET /api/threads\n\
             ask GET /api/audit\n\
             ask POST /api/threads/{thread}/apply\n\
             ask POST /api/session\n\
             ask POST /api/runs\n\
             ask GET '/?ticket=0'\n\
             ask GET /api/threads $'cookie: holon_session_{port}=0000000000000000\\r\\n'\n\
             cat '{folder}/token' '{folder}/holon.db' /proc/*/environ /proc/*/cmdline 2>&1 </dev/null | head -c 200000\n\
             for open in /proc/[0-9]*/fd/*; do [ -f \"$open\" ] && head -c 20000 \"$open\"; done 2>&1 </dev/null | head -c 200000\n\
             find / -xdev -name token -type f -readable -exec cat {{}} + 2>/dev/null | head -c 20000\n\
             }} > /holon/output/tried.txt 2>&1\n\
             echo done > /holon/output/summary.md\n",
            folder = server_folder.display(),
        );
        let agent = env.agent("agent.sh", &script);
        let out = env.work().join("out");
        let args = [
            "run",
            "--agent",
            agent.to_str().unwrap(),
            "--mode",
            "execute",
            "--network",
            "host",
            "--goal",
            "x",
        ];
        let run = env.holon(args).arg("--out").arg(&out).cwd(repo.path()).run();
        let tried =
            std::fs::read_to_string(out.join("tried.txt")).unwrap_or_else(|e| panic!("{e}: {}", run.stderr));
        assert!(tried.contains("HTTP/1.1 40"), "it reached the server's port: {tried}");
        assert!(!tried.contains("HTTP/1.1 2") && !tried.contains("set-cookie"), "{tried}");
        assert!(!tried.contains(&token) && !tried.contains("\"threads\":"), "{tried}");
        assert_eq!(std::fs::read_to_string(repo.path().join("a.txt")).unwrap(), "one\n");
    });
}
