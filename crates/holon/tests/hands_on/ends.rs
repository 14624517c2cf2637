//! Ends of every kind: the terminal is whole, and nothing is left behind.

use rustix::process::Signal;

use super::passes::FULL;
use super::seat::{Room, Seat};

fn waits() -> String {
    format!("{FULL}; echo two > a.txt; echo ready; sleep 1000")
}

#[test]
fn killed_inside() {
    let room = Room::new();
    let mut seat = room.sit(&format!("{FULL}; echo ready; kill -9 $$"), &[]);
    seat.until("ready");
    assert_eq!(seat.end(), 1, "{:?}", seat.shown());
    seat.assert_whole();
    assert!(seat.shown().contains("signal 9"), "{:?}", seat.shown());
    drop(seat);
    room.env.assert_nothing_left();
}

#[test]
fn asked_to_end() {
    for signal in [Signal::TERM, Signal::INT] {
        let room = Room::new();
        let mut seat = room.sit(&waits(), &[]);
        seat.until("ready");
        Seat::signal(seat.pid(), signal);
        assert_eq!(seat.end(), 1, "{signal:?}: {:?}", seat.shown());
        seat.assert_whole();
        assert_eq!(room.manifest()["status"], "cancelled");
        assert_eq!(room.file(), "one\n");
        drop(seat);
        room.env.assert_nothing_left();
    }
}

#[test]
fn the_process_that_carries_it_was_killed() {
    let room = Room::new();
    let mut seat = room.sit(&waits(), &[]);
    seat.until("ready");
    Seat::signal(seat.carrier(), Signal::KILL);
    assert_eq!(seat.end(), 1, "{:?}", seat.shown());
    seat.assert_whole();
    assert!(seat.shown().contains("was killed"), "{:?}", seat.shown());
    assert_eq!(room.file(), "one\n");
    drop(seat);
    room.env.assert_nothing_left();
    // The next command writes the manifest that could not be written.
    room.env.holon(["runs", "list"]).cwd(room.repo.path()).run().assert_code(0);
    assert_ne!(room.manifest()["outcome"], "success");
}

#[test]
fn ended_with_an_error_of_its_own() {
    let room = Room::new();
    let mut seat = room.sit(&format!("{FULL}; stty -echo raw; echo ready; exit 7"), &["--mode", "plan"]);
    seat.until("ready");
    assert_eq!(seat.end(), 0, "a person saw it: {:?}", seat.shown());
    seat.assert_whole();
    drop(seat);
    room.env.assert_nothing_left();
}
