//! A conversation through the gateway is recorded, and the recording plays.

use std::sync::{Arc, Mutex};

use holon_gateway::{CassetteRecording, Upstream};
use holon_model::{Cassette, Normaliser, ReplayProvider, WireFormat};
use holon_testkit::model::ModelServer;

use crate::{OpenGateway, WIRES, body, passing};

fn recording(tape: &Arc<Mutex<String>>) -> Option<CassetteRecording> {
    let saved = Arc::clone(tape);
    let save = Box::new(move |text: &str| {
        saved.lock().unwrap().push_str(text);
        Ok(())
    });
    Some(CassetteRecording { normaliser: Normaliser::default(), save })
}

#[test]
fn what_passed_through_plays_again() {
    for upstream in WIRES {
        for client in WIRES {
            let turns = "- text: one\n  tool: ls\n  args: { path: a }\n- error: { kind: overloaded, message: busy }\n- text: two\n  usage: { input: 3, output: 4 }\n";
            let server = ModelServer::play(upstream, turns);
            let tape: Arc<Mutex<String>> = Arc::default();
            let open =
                OpenGateway::with(passing(server.endpoint()), |settings| settings.record = recording(&tape));
            let asked = ["a", "b", "c"].map(|text| body(client, text));
            let first: Vec<_> = asked.iter().map(|body| open.ask(client, body)).collect();
            // The end of an answer comes after it was written down.
            let text = tape.lock().unwrap().clone();
            assert_eq!(open.gateway.finish().recording, None);
            let cassette: Cassette = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(cassette.turns.len(), 3, "{text}");

            let replay = Arc::new(ReplayProvider::new(cassette, Normaliser::default()));
            let again = OpenGateway::with(Upstream::Any(replay.clone()), |_| {});
            for (body, before) in asked.iter().zip(first) {
                let now = again.ask(client, body);
                assert_eq!(now.status, before.status, "{} {}", now.body, before.body);
                if before.status == 200 {
                    let (now, before) = (now.reply(client).unwrap(), before.reply(client).unwrap());
                    assert_eq!((now.parts, now.stop), (before.parts, before.stop));
                }
            }
            assert_eq!(replay.left(), 0);
            assert_eq!(
                again.ask(client, &asked[0]).status,
                400,
                "a cassette that is over is no reason to try again"
            );
        }
    }
}

#[test]
fn a_recording_that_fails_does_not_stop_the_run() {
    let server = ModelServer::play(WireFormat::Chat, "- text: ok\n");
    let open = OpenGateway::with(passing(server.endpoint()), |settings| {
        let save = Box::new(|_: &str| Err(std::io::Error::other("no space")));
        settings.record = Some(CassetteRecording { normaliser: Normaliser::default(), save });
    });
    assert_eq!(
        open.ask(WireFormat::Chat, &body(WireFormat::Chat, "x")).reply(WireFormat::Chat).unwrap().text(),
        "ok"
    );
    assert!(open.gateway.finish().recording.unwrap().contains("no space"));
}
