//! Who may come in, and from where.

use serde_json::json;

use crate::http::{learn, send, send_as};
use crate::stage::ServeStage;

#[test]
fn other_names_and_other_pages_are_refused() {
    let stage = ServeStage::playing("- text: hi\n");
    let port = stage.port;
    let here = format!("127.0.0.1:{port}");
    let check = |headers: &[(&str, &str)], expect: u16| {
        let answer = send(port, "GET", "/api/threads", headers, b"");
        assert_eq!(answer.status, expect, "{headers:?}");
        if expect != 200 {
            assert_eq!(answer.json()["code"], "forbidden");
        }
    };
    check(&[], 200);
    check(&[("host", &format!("localhost:{port}"))], 200);
    check(&[("host", &format!("evil.example:{port}"))], 403);
    check(&[("host", "127.0.0.1")], 403);
    check(&[("host", "")], 403);
    check(&[("origin", &format!("http://{here}"))], 200);
    check(&[("origin", "http://evil.example")], 403);
    check(&[("origin", "null")], 403);
    check(&[("origin", &format!("http://{here}.evil.example"))], 403);
    let two = [("host", here.as_str()), ("host", "evil.example")];
    assert_eq!(send(port, "GET", "/api/threads", &two, b"").status, 400, "one of two names is not enough");
    let whole = |name: &str| send(port, "GET", &format!("http://{name}/api/threads"), &[], b"").status;
    assert_eq!((whole(&here), whole("evil.example")), (200, 403));
    let simple = [("content-type", "text/plain")];
    let form = send(port, "POST", "/api/threads", &simple, b"{\"workspace\":\"/\"}");
    assert_eq!(form.status, 415, "a form of another page cannot pass for JSON");
    let cross = [("content-type", "application/json"), ("sec-fetch-site", "cross-site")];
    assert_eq!(send(port, "POST", "/api/threads", &cross, b"{}").status, 403);
    // Reading costs, too; only the page itself may be linked to.
    check(&[("sec-fetch-site", "cross-site")], 403);
    check(&[("sec-fetch-site", "same-site")], 403);
    check(&[("sec-fetch-site", "same-origin")], 200);
    assert_eq!(send(port, "GET", "/", &[("sec-fetch-site", "cross-site")], b"").status, 200);
    assert_eq!(send(port, "HEAD", "/", &[], b"").status, 200);
}

#[test]
fn every_error_is_a_problem_that_programs_can_read() {
    let stage = ServeStage::playing("- text: hi\n");
    let check = |method: &str, path: &str, status: u16, code: &str| {
        let answer = send(stage.port, method, path, &[], b"");
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        let found = (answer.status, answer.json());
        assert_eq!((found.0, &found.1["code"]), (status, &json!(code)), "{method} {path}");
        assert_eq!(kind, "application/problem+json", "{method} {path}");
        assert!(found.1["message"].as_str().is_some_and(|words| !words.is_empty()), "{}", found.1);
    };
    check("PATCH", "/api/threads", 405, "method_not_allowed");
    check("POST", "/healthz", 405, "method_not_allowed");
    check("GET", "/api/threads/%ff", 400, "bad_request");
    check("GET", "/api/threads?limit=x", 400, "bad_request");
    check("GET", "/api/nothing", 404, "not_found");
    let allowed = send(stage.port, "PATCH", "/api/threads", &[], b"");
    assert!(allowed.header("allow").is_some_and(|methods| methods.contains("GET")));
}

#[test]
fn only_folders_below_the_roots_can_be_worked_on() {
    let stage = ServeStage::playing("- text: hi\n");
    let link = stage.repo.path().join("out");
    std::os::unix::fs::symlink("/etc", &link).unwrap();
    let repo = stage.repo.path().to_str().unwrap().to_owned();
    let check = |workspace: &str, status: u16| {
        let answer = stage.post("/api/threads", json!({"workspace": workspace}));
        assert_eq!(answer.status, status, "{workspace}");
    };
    check(&repo, 201);
    check(&format!("{repo}/src"), 201);
    check("/etc", 403);
    check(&format!("{repo}/.."), 403);
    check(&format!("{repo}/out"), 403);
    check(&format!("{repo}/out/none"), 403);
    check(&format!("{repo}/none"), 422);
    check("relative", 422);
    check(&format!("{repo}/a.txt"), 422);
}

#[test]
fn holons_own_files_are_no_workspace() {
    let stage = ServeStage::new();
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let state = stage.env.state();
    let above = state.parent().unwrap().to_str().unwrap().to_owned();
    let stage = stage.with(&["--replay", tape.to_str().unwrap(), "--root", &above], &[]);
    let refused = stage.post("/api/threads", json!({"workspace": above}));
    assert_eq!(refused.status, 422);
    assert!(refused.json()["hint"].as_str().unwrap().contains("XDG_STATE_HOME"));
}

#[test]
fn a_root_must_be_a_folder() {
    let stage = ServeStage::new();
    for wrong in ["a.txt", "none"] {
        let root = stage.repo.path().join(wrong);
        let root = root.to_str().unwrap();
        let output = stage.env.holon(["serve", "--listen", "127.0.0.1:0", "--root", root]).run();
        output.assert_code(64);
        assert!(output.stderr.contains("give an existing folder with --root"), "{}", output.stderr);
    }
}

#[test]
fn tokens_name_users_and_users_see_only_their_own() {
    let stage = ServeStage::new();
    let tokens = stage.tokens("ann ann-ann-ann-ann-1\nbob bob-bob-bob-bob-2\n");
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let stage = stage.with(&["--tokens", tokens.to_str().unwrap(), "--replay", tape.to_str().unwrap()], &[]);
    let call = |method: &str, path: &str, token: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        send(stage.port, method, path, &headers, body.as_bytes())
    };
    assert_eq!(stage.get("/api/threads").status, 401);
    assert_eq!(call("GET", "/api/threads", "wrong", "").status, 401);
    assert_eq!(stage.get("/metrics").status, 401);
    assert_eq!(stage.get("/healthz").status, 200);
    assert_eq!(stage.get("/").status, 200);
    let body = json!({"workspace": stage.repo.path()}).to_string();
    let made = call("POST", "/api/threads", "ann-ann-ann-ann-1", &body).json();
    let id = made["id"].as_str().unwrap();
    let bob = "bob-bob-bob-bob-2";
    for (method, path, body) in [
        ("GET", format!("/api/threads/{id}"), ""),
        ("DELETE", format!("/api/threads/{id}"), ""),
        ("GET", format!("/api/threads/{id}/diff"), ""),
        ("POST", format!("/api/threads/{id}/apply"), "{}"),
        ("POST", format!("/api/chat/{id}"), "{\"message\":\"x\"}"),
        ("GET", format!("/api/chat/{id}/events"), ""),
        ("POST", format!("/api/chat/{id}/resume"), "{\"interrupt_id\":\"ask-1-1\"}"),
        ("POST", format!("/api/chat/{id}/cancel"), "{}"),
        ("POST", format!("/api/threads/{id}/undo"), "{}"),
        ("PUT", format!("/api/threads/{id}/tools"), "{\"tools\":{}}"),
        ("POST", format!("/api/threads/{id}/takeover"), "{}"),
        ("GET", format!("/api/threads/{id}/modes"), ""),
        ("GET", format!("/api/audit?thread={id}"), ""),
    ] {
        assert_eq!(call(method, &path, bob, body).status, 404, "{method} {path}");
    }
    // Nor is it theirs when it is gone.
    let other = call("POST", "/api/threads", "ann-ann-ann-ann-1", &body).json();
    let gone = other["id"].as_str().unwrap();
    assert_eq!(call("DELETE", &format!("/api/threads/{gone}"), "ann-ann-ann-ann-1", "").status, 204);
    assert_eq!(call("GET", &format!("/api/audit?thread={gone}"), bob, "").status, 404);
    assert_eq!(call("GET", &format!("/api/audit?thread={gone}"), "ann-ann-ann-ann-1", "").status, 200);
    let theirs = call("GET", "/api/threads", bob, "").json();
    assert_eq!(theirs["threads"], json!([]));
    let audit = call("GET", "/api/audit", bob, "").json();
    assert_eq!(audit["entries"], json!([]));
    call("POST", "/api/threads", bob, &body);
    let audit = call("GET", "/api/audit?limit=1", bob, "").json();
    assert_eq!(audit["entries"][0]["actor"], "bob", "what others did does not hide it: {audit}");
    let next = format!("/api/audit?limit=1&after={}", audit["entries"][0]["seq"]);
    assert_eq!(call("GET", &next, bob, "").json()["entries"], json!([]));
    assert_eq!(
        call("GET", "/api/threads", "ann-ann-ann-ann-1", "").json()["threads"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_server_that_listens_everywhere_prints_addresses_that_work() {
    let stage = ServeStage::new();
    let mut running = stage.env.holon(["serve", "--listen", "0.0.0.0:0"]).cwd(stage.repo.path()).spawn();
    running.wait_for_text("holon is at ");
    let said = running.stdout_so_far();
    let port = learn(&said);
    assert!(!said.contains("0.0.0.0"), "{said}");
    assert_eq!(send_as(port, "GET", "/api/threads", &[], b"").status, 401);
    for line in said.lines() {
        let (address, token) = line.split_once("http://").unwrap().1.split_once("/?token=").unwrap();
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("host", address)];
        let address: std::net::SocketAddr = address.parse().unwrap();
        assert!(std::net::TcpStream::connect(address).is_ok(), "{address}");
        assert_eq!(send_as(port, "GET", "/api/threads", &headers, b"").status, 200, "{line}");
    }
}

#[test]
fn a_shell_that_allows_few_descriptors_does_not_limit_the_streams() {
    let stage = ServeStage::new();
    let line =
        format!("ulimit -Sn 64; exec '{}' serve --demo --listen 127.0.0.1:0", stage.env.binary().display());
    let mut running = stage.env.program("sh").args(["-c", &line]).cwd(stage.repo.path()).spawn();
    running.wait_for_text("holon is at ");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", running.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers[0], numbers[1].min(16_384), "{line}");
}

#[test]
fn what_is_too_large_or_odd_is_refused_in_words() {
    let stage = ServeStage::playing("- text: hi\n");
    let thread = stage.thread();
    let chat = format!("/api/chat/{thread}");
    let big = json!({"message": "x".repeat(2 << 20)});
    let answer = stage.post(&chat, big);
    assert_eq!((answer.status, answer.json()["code"].as_str()), (413, Some("too_large")));
    assert_eq!(stage.post(&chat, json!({"message": "x".repeat(300 << 10)})).status, 413);
    assert_eq!(stage.post(&chat, json!({"message": " "})).status, 422);
    assert_eq!(stage.post(&chat, json!({"words": "x"})).status, 422);
    assert_eq!(stage.post("/api/chat/t-none", json!({"message": "x"})).status, 404);
    assert_eq!(stage.post("/api/chat/%2e%2e", json!({"message": "x"})).status, 404);
    assert_eq!(stage.get("/api/nothing").status, 404);
    assert_eq!(stage.get("/assets/none.js").status, 404);
    assert_eq!(stage.get(&format!("/api/chat/{thread}/events?after=x")).status, 400);
    assert_eq!(stage.get("/api/threads?limit=-1").status, 400);
    let table = |name: &str| {
        let body = json!({"tools": {name: "deny"}}).to_string();
        let headers = [("content-type", "application/json")];
        send(stage.port, "PUT", &format!("/api/threads/{thread}/tools"), &headers, body.as_bytes()).status
    };
    // What can never be about a tool would only look like a rule.
    assert_eq!(["exec*", "*", "exec*te", "exe\ncute", ""].map(table), [200, 200, 422, 422, 422]);
    let json = [("content-type", "application/json")];
    assert_eq!(send(stage.port, "POST", &chat, &json, b"{not json").status, 400);
    let page = stage.get("/");
    assert!(page.header("content-security-policy").unwrap().contains("script-src 'self'"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn the_document_and_the_numbers_are_there() {
    let stage = ServeStage::playing("- text: hi\n");
    let document = stage.get("/api/openapi.json").json();
    assert!(document["paths"]["/api/chat/{thread_id}"]["post"].is_object());
    stage.say(&stage.thread(), "hello", "plan");
    let metrics = stage.get("/metrics").text();
    assert!(metrics.contains("mode_invocations_total{mode=\"plan\"} 1"), "{metrics}");
    let modes = stage.get("/api/modes").json();
    let chat: Vec<_> = modes["modes"].as_array().unwrap().iter().filter(|m| !m["chat"].is_null()).collect();
    assert_eq!(chat.len(), 2);
    let info = stage.get("/api/info").json();
    assert_eq!((&info["user"], &info["demo"]), (&json!("local"), &json!(false)));
}
