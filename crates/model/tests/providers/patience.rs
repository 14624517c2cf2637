//! When a request is sent again.

use std::time::Duration;

use holon_model::retry::Backoff;
use holon_model::{
    BlockingProvider, DeltaSink, ModelCancel, ModelError, ModelErrorKind, ReplyDelta, RetryingProvider,
    WireFormat,
};
use holon_testkit::model::{ModelServer, ScriptedResponse};

use super::{WIRES, ask, hello, http, quick, retrying};

#[test]
fn a_rate_limit_is_waited_out_as_asked() {
    for wire in WIRES {
        let server = ModelServer::play(wire, "- error: { kind: rate_limit, retry_after: 3ms }\n- text: ok\n");
        let mut waits = RecordedWaits::default();
        let provider = BlockingProvider::new(retrying(&server)).unwrap();
        let reply = provider.stream(&hello(), &mut waits, &ModelCancel::default()).unwrap();
        assert_eq!(reply.text(), "ok");
        assert_eq!(waits.0, [(Duration::from_millis(3), ModelErrorKind::RateLimit)]);
        let requests = server.requests();
        assert_eq!(requests[0].body, requests[1].body);
    }
}

#[derive(Default)]
struct RecordedWaits(Vec<(Duration, ModelErrorKind)>);

impl DeltaSink for RecordedWaits {
    fn delta(&mut self, _: ReplyDelta) {}

    fn waiting(&mut self, pause: Duration, why: &ModelError) {
        self.0.push((pause, why.kind));
    }
}

#[test]
fn seconds_and_dates_are_understood_too() {
    let limited = |header: &str, value: &str| ScriptedResponse::json(429, "{}").header(header, value);
    let server = ModelServer::start(
        WireFormat::Chat,
        [
            limited("retry-after", "0"),
            limited("retry-after", "Thu, 01 Jan 2026 00:00:00 GMT"),
            limited("retry-after-ms", "2"),
            holon_model::cassette::CassetteTurn::text("ok").into(),
        ],
    );
    let mut waits = RecordedWaits::default();
    let slow = Backoff { base: Duration::from_secs(25), ..Backoff::default() };
    let provider = BlockingProvider::new(RetryingProvider::with(http(&server), slow, || 0.0)).unwrap();
    provider.stream(&hello(), &mut waits, &ModelCancel::default()).unwrap();
    assert_eq!(waits.0.iter().map(|(pause, _)| pause.as_millis()).collect::<Vec<_>>(), [0, 0, 2]);
}

#[test]
fn passing_troubles_are_repeated_and_others_are_not() {
    for (entry, tries) in [
        ("error: overloaded", 2),
        ("error: timeout", 2),
        ("cut: true", 2),
        ("error: auth", 1),
        ("error: billing", 1),
        ("error: context_overflow", 1),
        ("error: refused", 1),
        ("error: bad_request", 1),
    ] {
        for wire in WIRES {
            let server = ModelServer::play(wire, &format!("- {entry}\n- text: ok\n"));
            let reply = ask(retrying(&server), &hello()).1;
            assert_eq!((server.requests().len(), reply.is_ok()), (tries, tries == 2), "{wire:?} {entry}");
        }
    }
}

#[test]
fn five_repetitions_are_enough() {
    let server = ModelServer::play(WireFormat::Messages, &"- error: overloaded\n".repeat(9));
    assert_eq!(ask(retrying(&server), &hello()).1.unwrap_err().kind, ModelErrorKind::Overloaded);
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn an_hour_is_not_waited_for() {
    let server =
        ModelServer::play(WireFormat::Chat, "- error: { kind: rate_limit, retry_after: 1h }\n- text: ok\n");
    let error = ask(retrying(&server), &hello()).1.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(3600)));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn what_was_already_said_is_not_said_again_unless_asked_for() {
    let script = "- text: half\n  cut: true\n- text: whole\n";
    let server = ModelServer::play(WireFormat::Chat, script);
    let (deltas, reply) = ask(retrying(&server), &hello());
    assert_eq!(reply.unwrap_err().kind, ModelErrorKind::Cut);
    assert_eq!(deltas, [ReplyDelta::Text("half".into())]);
    let server = ModelServer::play(WireFormat::Chat, script);
    let provider = RetryingProvider::with(http(&server), Backoff { after_text: true, ..quick() }, || 0.0);
    let (deltas, reply) = ask(provider, &hello());
    assert_eq!(reply.unwrap().text(), "whole");
    assert_eq!(
        deltas,
        [ReplyDelta::Text("half".into()), ReplyDelta::Restart, ReplyDelta::Text("whole".into())]
    );
}

#[test]
fn a_stream_that_breaks_while_the_model_thinks_is_repeated() {
    for wire in WIRES {
        let server = ModelServer::play(wire, "- reasoning: hm\n  cut: true\n- text: whole\n");
        let (deltas, reply) = ask(retrying(&server), &hello());
        assert_eq!(reply.unwrap().text(), "whole", "{wire:?}");
        assert_eq!(
            deltas,
            [ReplyDelta::Reasoning("hm".into()), ReplyDelta::Restart, ReplyDelta::Text("whole".into())]
        );
    }
}

#[test]
fn a_pause_can_be_stopped() {
    let server =
        ModelServer::play(WireFormat::Chat, "- error: { kind: rate_limit, retry_after: 30s }\n- text: ok\n");
    struct CancelOnFirstWait(ModelCancel);
    impl DeltaSink for CancelOnFirstWait {
        fn delta(&mut self, _: ReplyDelta) {}
        fn waiting(&mut self, _: Duration, _: &ModelError) {
            self.0.cancel();
        }
    }
    let cancel = ModelCancel::default();
    let provider = BlockingProvider::new(retrying(&server)).unwrap();
    let error = provider.stream(&hello(), &mut CancelOnFirstWait(cancel.clone()), &cancel).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cancelled);
    assert_eq!(server.left(), 1);
}
