//! What a run may spend ends it, cleanly.

use holon_gateway::{Budget, Event, Limit};
use holon_model::{Prices, Wire};
use holon_testkit::model::{ModelServer, Piece, Scripted};
use holon_testkit::wait_until;

use crate::{Open, PATIENCE, WIRES, body, passing, replay};

const TURN: &str = "- text: ok\n  usage: { input: 90, output: 10 }\n";

#[test]
fn each_budget_ends_the_run_with_an_error_nobody_repeats() {
    let tokens = Budget { tokens: Some(150), ..Budget::default() };
    let money = Budget { cost_usd: Some(0.015), ..Budget::default() };
    let requests = Budget { requests: Some(2), ..Budget::default() };
    for (budget, limit, word) in [
        (tokens, Limit::Tokens, "tokens"),
        (money, Limit::Cost, "money"),
        (requests, Limit::Requests, "requests"),
    ] {
        for wire in WIRES {
            let open = Open::with(replay(&TURN.repeat(3)), |settings| {
                settings.budget = budget;
                settings.prices = Some(Prices { input: 1e-4, output: 1e-4, ..Prices::default() });
            });
            for _ in 0..2 {
                open.ask(wire, &body(wire, "x")).reply(wire).unwrap();
            }
            assert_eq!(open.gateway.spent(), None);
            for _ in 0..2 {
                let answer = open.ask(wire, &body(wire, "x"));
                let status = if wire == Wire::Responses { 400 } else { 402 };
                assert_eq!((answer.status, answer.header("x-should-retry")), (status, Some("false")));
                assert!(answer.error(wire).contains(word), "{}", answer.body);
            }
            assert_eq!(open.gateway.spent(), Some(limit));
            let told = open.events().iter().filter(|event| **event == Event::Spent { limit }).count();
            assert_eq!(told, 1, "told once");
            let account = open.gateway.finish();
            assert_eq!((account.requests, account.over_budget), (2, 2));
            assert!((account.usage.cost_usd.unwrap() - 0.02).abs() < 1e-9);
        }
    }
}

#[test]
fn hanging_up_early_stops_the_provider_and_is_charged() {
    for pass in [true, false] {
        let wire = Wire::Chat;
        let first = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words\"}}]}\n\n";
        let script = [Scripted::stream([Piece::Bytes(first.into()), Piece::Hang])];
        let server = ModelServer::start(if pass { wire } else { Wire::Chat }, script);
        let client_wire = if pass { Wire::Chat } else { Wire::Messages };
        let open = Open::with(passing(server.endpoint()), |settings| {
            settings.budget = Budget { tokens: Some(10), ..Budget::default() };
        });
        let mut client = open.client();
        let text = body(client_wire, "x").to_string();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: g\r\nx-api-key: {}\r\ncontent-length: {}\r\n\r\n",
            client_wire.path(),
            crate::TOKEN,
            text.len()
        );
        client.send((head + &text).as_bytes());
        client.read_until("some words");
        client.hang_up();
        let ended = || open.events().iter().any(|event| matches!(event, Event::Finished { .. }));
        assert!(wait_until(PATIENCE, ended), "the exchange ends with its client");
        assert_eq!(open.ask(client_wire, &body(client_wire, "x")).status, 402, "its tokens are spent");
        let account = open.gateway.finish();
        assert_eq!((account.failed, account.estimated), (1, 1));
    }
}

#[test]
fn requests_side_by_side_are_not_counted_twice_or_forgotten() {
    let open = Open::with(replay(&TURN.repeat(40)), |settings| {
        settings.budget = Budget { requests: Some(20), ..Budget::default() };
    });
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = || (0..5).map(|_| open.ask(Wire::Chat, &body(Wire::Chat, "x")).status).collect::<Vec<_>>();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(200), count(402)), (20, 20));
}

#[test]
fn many_at_once_cannot_overspend() {
    let budget = Budget { cost_usd: Some(0.05), ..Budget::default() };
    let open = Open::with(replay(&TURN.repeat(40)), |settings| {
        settings.budget = budget;
        settings.prices = Some(Prices { input: 1e-4, output: 1e-4, ..Prices::default() });
    });
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = || (0..2).map(|_| open.ask(Wire::Chat, &body(Wire::Chat, "x")).status).collect::<Vec<_>>();
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let served = statuses.iter().filter(|status| **status == 200).count();
    let cost = open.gateway.finish().usage.cost_usd.unwrap();
    // Each costs 0.01, so five use it up; one more would be the most that a run may overspend.
    assert!((5..=6).contains(&served), "{statuses:?}");
    assert!(cost < 0.0601, "{cost}");
}
