//! Clients that mean harm hurt nobody, and the next one is served.

use std::time::Duration;

use holon_gateway::{GatewayEvent, GatewayLimits, GatewaySettings};
use holon_model::WireFormat;
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};
use holon_testkit::wait_until;

use crate::client::RawClient;
use crate::{OpenGateway, PATIENCE, TOKEN, body, passing, replay};

const SHORT: Duration = Duration::from_millis(50);

fn open(change: impl FnOnce(&mut GatewayLimits)) -> OpenGateway {
    OpenGateway::with(replay("- text: ok\n- text: ok\n- text: ok\n"), |settings: &mut GatewaySettings| {
        change(&mut settings.limits)
    })
}

/// The door still serves.
fn alive(open: &OpenGateway) {
    let answer = open.ask(WireFormat::Chat, &body(WireFormat::Chat, "x"));
    assert_eq!(answer.reply(WireFormat::Chat).unwrap().text(), "ok");
}

fn head(extra: &str) -> String {
    format!("POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {TOKEN}\r\n{extra}")
}

#[test]
fn requests_that_two_readers_would_read_differently() {
    let open = open(|_| {});
    let inner = "GET /v1/models HTTP/1.1\r\nhost: g\r\n\r\n";
    for (extra, statuses) in [
        // The length is ignored, and the connection closed after the answer: what hides behind is never read.
        (format!("content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{inner}"), vec![400]),
        (format!("transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n{inner}"), vec![400]),
        (format!("content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}{inner}"), vec![400]),
        (format!("content-length: 2, 3\r\n\r\n{{}}{inner}"), vec![400]),
        (format!("content-length: +2\r\n\r\n{{}}{inner}"), vec![400]),
        (format!("content-length: -1\r\n\r\n{{}}{inner}"), vec![400]),
        (format!("transfer-encoding: xchunked\r\n\r\n0\r\n\r\n{inner}"), vec![400]),
        (format!("transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{inner}"), vec![400]),
        (format!("x-folded: a\r\n b\r\ncontent-length: 2\r\n\r\n{{}}{inner}"), vec![400]),
        (format!("x-odd : a\r\ncontent-length: 2\r\n\r\n{{}}{inner}"), vec![400]),
        (format!("x-nul: a\0b\r\ncontent-length: 2\r\n\r\n{{}}{inner}"), vec![400]),
        (format!("transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n{inner}"), vec![400]),
    ] {
        let text = head(&extra);
        let answer = open.client().raw(text.as_bytes());
        assert!(statuses.contains(&answer.status), "{extra:?}: {} {}", answer.status, answer.body);
        assert_eq!(answer.body.matches("HTTP/1.1").count(), 0, "one answer to {extra:?}: {}", answer.body);
    }
    alive(&open);
}

#[test]
fn this_is_no_proxy() {
    let open = open(|_| {});
    for line in [
        "GET http://example.com/ HTTP/1.1",
        "POST http://127.0.0.1:1/v1/messages HTTP/1.1",
        "CONNECT example.com:443 HTTP/1.1",
        "POST https://example.com/v1/chat/completions HTTP/1.1",
    ] {
        let text = format!(
            "{line}\r\nhost: example.com\r\nx-api-key: {TOKEN}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
        );
        let answer = open.client().raw(text.as_bytes());
        assert_eq!(answer.status, 400, "{line}");
        assert!(answer.body.contains("no proxy"), "{line}: {}", answer.body);
    }
    let upgrade = format!(
        "GET /v1/responses HTTP/1.1\r\nhost: g\r\nx-api-key: {TOKEN}\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n"
    );
    assert_eq!(open.client().raw(upgrade.as_bytes()).status, 405);
    for garbage in [
        "\x16\x03\x01\x02\0\x01",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\r\n\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "* * *\r\n\r\n",
    ] {
        let mut client = open.client();
        client.send(garbage.as_bytes());
        client.0.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(client.closes(), "{garbage:?}");
    }
    alive(&open);
}

#[test]
fn heads_without_end() {
    let open = open(|limits| {
        limits.headers = 20;
        limits.head_bytes = 16 * 1024;
    });
    for extra in ["x: y\r\n".repeat(30), format!("x: {}\r\n", "y".repeat(64 * 1024)), "x".repeat(64 * 1024)] {
        let answer = open.client().raw(head(&(extra + "\r\n")).as_bytes());
        assert_eq!(answer.status, 431, "{}", answer.head);
    }
    let line = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100 * 1024));
    assert!([400, 414, 431].contains(&open.client().raw(line.as_bytes()).status));
    alive(&open);
}

#[test]
fn slow_ones_are_not_waited_for() {
    let open = open(|limits| {
        limits.head_time = SHORT;
        limits.body_idle = SHORT;
    });
    // Nothing, half a head, and an idle connection after a request.
    assert!(open.client().closes());
    let mut half = open.client();
    half.send(b"POST /v1/messages HTTP/1.1\r\nhost");
    assert!(half.closes());
    let mut idle = open.client();
    idle.send(b"GET / HTTP/1.1\r\nhost: g\r\n\r\n");
    idle.read_until("holon gateway");
    assert!(idle.closes());
    // Half a body.
    let answer = open.client().raw(head("content-length: 100\r\n\r\n{").as_bytes());
    assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (408, Some("timeout")));
    alive(&open);
}

#[test]
fn a_body_that_trickles_ends_too() {
    let open = open(|limits| limits.body_time = SHORT);
    let mut client = open.client();
    client.send(head("content-length: 1000000\r\n\r\n").as_bytes());
    // As fast as it likes, but never done.
    let mut status = String::new();
    let deadline = std::time::Instant::now() + PATIENCE;
    client.0.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let mut buffer = [0; 1024];
    while status.is_empty() && std::time::Instant::now() < deadline {
        client.send(b" ");
        if let Ok(count @ 1..) = std::io::Read::read(&mut client.0, &mut buffer) {
            status = String::from_utf8_lossy(&buffer[..count]).into_owned();
        }
    }
    assert!(status.starts_with("HTTP/1.1 408"), "{status}");
    alive(&open);
}

#[test]
fn bodies_have_a_size() {
    let open = open(|limits| {
        limits.body_bytes = 10_000;
        limits.json_values = 100;
        limits.linger = SHORT;
    });
    let told = open.client().raw(head("content-length: 99999999999\r\n\r\n").as_bytes());
    assert_eq!(told.status, 413, "refused before it is sent");
    let chunk = format!("{:x}\r\n{}\r\n", 4096, " ".repeat(4096));
    let untold = head("transfer-encoding: chunked\r\n\r\n") + &chunk.repeat(10) + "0\r\n\r\n";
    assert_eq!(open.client().raw(untold.as_bytes()).status, 413);
    for (text, words) in [
        (format!("{{\"messages\":{}", "[".repeat(5000)), "nested too deeply"),
        (format!("{{\"messages\":[{}0]}}", "0,".repeat(1000)), "too many values"),
        ("{".to_owned(), "not valid JSON"),
        ("\u{0}".to_owned(), "not valid JSON"),
        ("[]".to_owned(), "must be a JSON object"),
        ("{\"messages\":[]}".to_owned(), "messages"),
    ] {
        let answer = open.client().post("/v1/chat/completions", &text);
        assert_eq!(answer.status, 400);
        assert!(answer.error(WireFormat::Chat).contains(words), "{}", answer.body);
    }
    let packed = open
        .client()
        .raw(head("content-encoding: gzip\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}").as_bytes());
    assert_eq!(packed.status, 415);
    alive(&open);
}

#[test]
fn all_bodies_together_have_a_size() {
    let open = open(|limits| limits.bodies_bytes = 20_000);
    let small = format!("{{{}}}", " ".repeat(10_000));
    // Whichever of the two is read last does not fit; unless the second one was over before the first began.
    let one_is_refused = || {
        let mut first = open.client();
        first.send(head(&format!("content-length: 30000\r\n\r\n{}", " ".repeat(15_000))).as_bytes());
        let second = open.client().post("/v1/chat/completions", &small).status;
        first.0.set_read_timeout(Some(SHORT)).unwrap();
        let first = first.rest().status;
        assert!([400, 503].contains(&second) && [0, 503].contains(&first), "{first} {second}");
        first == 503 || second == 503
    };
    assert!(wait_until(PATIENCE, one_is_refused));
    let fits = || open.client().post("/v1/chat/completions", &small).status == 400;
    assert!(wait_until(PATIENCE, fits), "what is gone weighs nothing");
}

#[test]
fn thousands_of_connections() {
    let open = open(|limits| limits.connections = 50);
    let address = open.gateway.address().unwrap();
    let mut held: Vec<RawClient> = (0..50).map(|_| RawClient::connect(address)).collect();
    // All places are taken once somebody is turned away.
    let turned_away = || {
        RawClient::connect(address).raw(b"GET / HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n").status
            == 503
    };
    assert!(wait_until(PATIENCE, turned_away), "and is told why");
    let knock = || (0..300).for_each(|_| drop(RawClient::connect(address)));
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(knock))));
    held.iter_mut().for_each(|client| client.send(b"GET /"));
    drop(held);
    let served = || {
        RawClient::connect(address).raw(b"GET / HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n").status
            == 200
    };
    assert!(wait_until(PATIENCE, served), "the door is still open");
    alive(&open);
}

#[test]
fn a_connection_is_not_for_ever() {
    let open = open(|limits| limits.requests = 3);
    let mut client = open.client();
    client.send("GET / HTTP/1.1\r\nhost: g\r\n\r\n".repeat(10).as_bytes());
    let mut all = String::new();
    let _ = std::io::Read::read_to_string(&mut client.0, &mut all);
    assert_eq!(all.matches("HTTP/1.1 200").count(), 3, "{all}");
}

#[test]
fn refusals_are_told_within_bounds() {
    let open = open(|_| {});
    for _ in 0..150 {
        assert_eq!(open.client().request("GET", "/nowhere", &[], "").status, 404);
    }
    let told = open.events().iter().filter(|event| matches!(event, GatewayEvent::Refused { .. })).count();
    assert_eq!((told, open.gateway.finish().refused), (100, 150));
}

#[test]
fn requests_in_one_breath_are_answered_in_order() {
    let open = open(|_| {});
    let text = body(WireFormat::Chat, "x").to_string();
    let one = head(&format!("content-length: {}\r\n\r\n{text}", text.len()));
    let last = "GET / HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n";
    let mut client = open.client();
    client.send(format!("{one}{one}{last}").as_bytes());
    let all = client.read_until("holon gateway");
    assert_eq!((all.matches("HTTP/1.1 200").count(), all.matches("[DONE]").count()), (3, 2), "{all}");
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    for (upstream, client_wire) in
        [(WireFormat::Chat, WireFormat::Chat), (WireFormat::Messages, WireFormat::Chat)]
    {
        let line = "x".repeat(100_000);
        let flood = match upstream {
            WireFormat::Chat => {
                format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{line}\"}}}}]}}\n\n")
            }
            _ => format!(
                "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"{line}\"}}}}\n\n"
            ),
        };
        let pieces = std::iter::repeat_n(BodyPiece::Bytes(flood.into_bytes()), 160);
        let server = ModelServer::start(upstream, [ScriptedResponse::stream(pieces)]);
        let open = OpenGateway::with(passing(server.endpoint()), |settings| {
            settings.limits.write_idle = SHORT;
            settings.limits.pending_bytes = 64 * 1024;
        });
        let mut client = open.client();
        let text = body(client_wire, "x").to_string();
        client.send(head(&format!("content-length: {}\r\n\r\n{text}", text.len())).as_bytes());
        let ended = || {
            open.events().iter().any(|event| matches!(event, GatewayEvent::Finished { error: Some(_), .. }))
        };
        assert!(wait_until(PATIENCE, ended), "{upstream:?}");
        let account = open.gateway.finish();
        assert!(account.failed == 1 && account.usage.output > 0, "{account:?}");
    }
}

#[test]
fn a_client_that_hangs_up_frees_its_turn() {
    let server = ModelServer::start(
        WireFormat::Chat,
        [
            ScriptedResponse::stream([BodyPiece::Hang]),
            ScriptedResponse::from(holon_model::cassette::CassetteTurn::text("ok")),
        ],
    );
    let open = OpenGateway::with(passing(server.endpoint()), |settings| settings.limits.exchanges = 1);
    let text = body(WireFormat::Chat, "x").to_string();
    let mut first = open.client();
    first.send(head(&format!("content-length: {}\r\n\r\n{text}", text.len())).as_bytes());
    assert!(wait_until(PATIENCE, || !server.requests().is_empty()));
    first.hang_up();
    alive(&open);
}

#[test]
fn finishing_does_not_wait_for_anybody() {
    let server = ModelServer::start(WireFormat::Chat, [ScriptedResponse::stream([BodyPiece::Hang])]);
    let open = OpenGateway::pass(&server);
    let text = body(WireFormat::Chat, "x").to_string();
    let mut client = open.client();
    client.send(head(&format!("content-length: {}\r\n\r\n{text}", text.len())).as_bytes());
    assert!(wait_until(PATIENCE, || !server.requests().is_empty()));
    let address = open.gateway.address().unwrap();
    let account = open.gateway.finish();
    assert_eq!((account.requests, account.failed, account.estimated), (1, 1, 1));
    assert!(client.closes());
    assert!(std::net::TcpStream::connect(address).is_err(), "the door is shut");
}
