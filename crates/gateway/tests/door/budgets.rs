//! What a run may spend ends it, cleanly.

use holon_gateway::{BudgetLimit, GatewayBudget, GatewayEvent};
use holon_model::{Prices, WireFormat};
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};
use holon_testkit::wait_until;

use crate::{OpenGateway, PATIENCE, WIRES, body, passing, replay};

const TURN: &str = "- text: ok\n  usage: { input: 90, output: 10 }\n";

#[test]
fn each_budget_ends_the_run_with_an_error_nobody_repeats() {
    let tokens = GatewayBudget { tokens: Some(150), ..GatewayBudget::default() };
    let money = GatewayBudget { cost_usd: Some(0.015), ..GatewayBudget::default() };
    let requests = GatewayBudget { requests: Some(2), ..GatewayBudget::default() };
    for (budget, limit, word) in [
        (tokens, BudgetLimit::Tokens, "tokens"),
        (money, BudgetLimit::Cost, "money"),
        (requests, BudgetLimit::Requests, "requests"),
    ] {
        for wire in WIRES {
            let open = OpenGateway::with(replay(&TURN.repeat(3)), |settings| {
                settings.budget = budget;
                settings.prices = Some(Prices { input: 1e-4, output: 1e-4, ..Prices::default() });
            });
            for _ in 0..2 {
                open.ask(wire, &body(wire, "x")).reply(wire).unwrap();
            }
            assert_eq!(open.gateway.spent(), None);
            for _ in 0..2 {
                let answer = open.ask(wire, &body(wire, "x"));
                let status = if wire == WireFormat::Responses { 400 } else { 402 };
                assert_eq!((answer.status, answer.header("x-should-retry")), (status, Some("false")));
                assert!(answer.error(wire).contains(word), "{}", answer.body);
            }
            assert_eq!(open.gateway.spent(), Some(limit));
            let told = open.events().iter().filter(|event| **event == GatewayEvent::Spent { limit }).count();
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
        let wire = WireFormat::Chat;
        let first = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words\"}}]}\n\n";
        let script = [ScriptedResponse::stream([BodyPiece::Bytes(first.into()), BodyPiece::Hang])];
        let server = ModelServer::start(if pass { wire } else { WireFormat::Chat }, script);
        let client_wire = if pass { WireFormat::Chat } else { WireFormat::Messages };
        let open = OpenGateway::with(passing(server.endpoint()), |settings| {
            settings.budget = GatewayBudget { tokens: Some(10), ..GatewayBudget::default() };
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
        let ended = || open.events().iter().any(|event| matches!(event, GatewayEvent::Finished { .. }));
        assert!(wait_until(PATIENCE, ended), "the exchange ends with its client");
        assert_eq!(open.ask(client_wire, &body(client_wire, "x")).status, 402, "its tokens are spent");
        let account = open.gateway.finish();
        assert_eq!((account.failed, account.estimated), (1, 1));
    }
}

#[test]
fn requests_side_by_side_are_not_counted_twice_or_forgotten() {
    let open = OpenGateway::with(replay(&TURN.repeat(40)), |settings| {
        settings.budget = GatewayBudget { requests: Some(20), ..GatewayBudget::default() };
    });
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = || {
            (0..5)
                .map(|_| open.ask(WireFormat::Chat, &body(WireFormat::Chat, "x")).status)
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(200), count(402)), (20, 20));
}

#[test]
fn many_at_once_cannot_overspend() {
    let budget = GatewayBudget { cost_usd: Some(0.05), ..GatewayBudget::default() };
    let open = OpenGateway::with(replay(&TURN.repeat(40)), |settings| {
        settings.budget = budget;
        settings.prices = Some(Prices { input: 1e-4, output: 1e-4, ..Prices::default() });
    });
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = || {
            (0..2)
                .map(|_| open.ask(WireFormat::Chat, &body(WireFormat::Chat, "x")).status)
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let served = statuses.iter().filter(|status| **status == 200).count();
    let cost = open.gateway.finish().usage.cost_usd.unwrap();
    // Each costs 0.01, so five use it up; one more would be the most that a run may overspend.
    assert!((5..=6).contains(&served), "{statuses:?}");
    assert!(cost < 0.0601, "{cost}");
}
