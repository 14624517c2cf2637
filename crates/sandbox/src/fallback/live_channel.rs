//! Conversations through the walls: standard input and output as one channel, and the listener inside.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use super::testing::{SandboxWorld, as_every_user};
use super::{LandlockOnly, UnsandboxedBackend};
use crate::backend::{NativeSandbox, SandboxBackend};
use crate::isolation::{GATEWAY_PORT, PayloadNetwork, PayloadStreams};

fn path(test: &str) -> String {
    format!("fallback::live_channel::{test}")
}

/// Says a line to the payload and hears its answer.
fn converse(backend: &dyn SandboxBackend, mut world: SandboxWorld) {
    world.job.streams = PayloadStreams::Channel;
    let mut payload = backend.start(&world.job).unwrap();
    let mut channel = payload.take_channel().unwrap();
    channel.write_all(b"hello\n").unwrap();
    let mut heard = [0; 6];
    channel.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"HELLO\n", "{}", backend.name());
    channel.shutdown(std::net::Shutdown::Write).unwrap();
    let (_, mut errors) = payload.take_output().unwrap();
    let mut said = String::new();
    errors.read_to_string(&mut said).unwrap();
    assert_eq!(said, "bye\n", "{}", backend.name());
    payload.finish();
}

#[test]
fn input_and_output_are_one_channel_on_every_rung() {
    as_every_user(&path("input_and_output_are_one_channel_on_every_rung"), || {
        let script = "read line; echo $line | tr a-z A-Z; cat; echo bye >&2";
        converse(&NativeSandbox::default(), SandboxWorld::new(script, true));
        converse(&LandlockOnly::default(), SandboxWorld::new(script, true).on_the_host());
        converse(&UnsandboxedBackend::default(), SandboxWorld::new(script, true).on_the_host());
    });
}

#[test]
fn the_host_answers_inside_and_nobody_else_does() {
    as_every_user(&path("the_host_answers_inside_and_nobody_else_does"), || {
        // Something of the host's own at a port of its loopback: not to be reached from inside.
        let own = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = own.local_addr().unwrap().port();
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{GATEWAY_PORT}; echo ping >&3; read answer <&3; echo $answer; \
             (exec 4<>/dev/tcp/127.0.0.1/{port}) && echo REACHED; true"
        );
        let mut world = SandboxWorld::new("", false);
        world.job.argv = ["/bin/bash", "-c", &script].map(Into::into).to_vec();
        world.job.network = PayloadNetwork::Gateway;
        let mut payload = NativeSandbox::default().start(&world.job).unwrap();
        assert!(payload.held().net_ns);
        let (mut client, _) = payload.take_listener().unwrap().accept().unwrap();
        let mut asked = [0; 5];
        client.read_exact(&mut asked).unwrap();
        client.write_all(b"pong\n").unwrap();
        let (mut out, _) = payload.take_output().unwrap();
        let mut said = String::new();
        out.read_to_string(&mut said).unwrap();
        assert_eq!((&asked, said.as_str()), (b"ping\n", "pong\n"));
        payload.finish();
    });
}

#[test]
fn a_refusal_before_the_listener_is_heard() {
    let mut world = SandboxWorld::new("true", false);
    world.job.network = PayloadNetwork::Gateway;
    world.job.mounts.push(crate::mount::Mount::read_only("/nonexistent/holon", "/holon/input/none"));
    let refusal =
        NativeSandbox::default().start(&world.job).map(|mut p| p.wait(Duration::ZERO).is_ok()).unwrap_err();
    assert!(refusal.to_string().contains("nonexistent"), "{refusal}");
}
