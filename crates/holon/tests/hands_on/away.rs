//! Leaving a session that goes on, and coming back.

use rustix::process::Signal;

use super::passes::FULL;
use super::seat::{Room, Seat, manifest};

fn waits() -> String {
    format!(
        "{FULL}; echo ready; while read line; do echo \"heard <$line>\"; [ \"$line\" = end ] && exit; done"
    )
}

#[test]
fn left_and_come_back_to_by_another_terminal() {
    let room = Room::new();
    let mut seat = room.sit(&waits(), &[]);
    seat.until("ready");
    seat.types("\x1dd");
    seat.until("holon runs attach ");
    assert_eq!(seat.end(), 0);
    seat.assert_whole();
    let mut back = room.seat(&["runs", "attach", "last"]);
    let shown = back.until("\x1b[?2004h");
    assert!(shown.contains("\x1b[?1049h") && shown.contains("\x1b[?25l"), "{shown:?}");
    back.types("again\n");
    back.until("heard <again>");
    // A third one takes over, and the second lets go.
    let mut third = room.seat(&["runs", "attach", "last"]);
    third.until("\x1b[?2004h");
    back.until("at another terminal");
    assert_eq!(back.end(), 0);
    back.assert_whole();
    third.types("end\n");
    third.until("heard <end>");
    assert_eq!(third.end(), 0, "{:?}", third.shown());
    third.assert_whole();
    drop(seat);
    drop(back);
    drop(third);
    room.env.assert_nothing_left();
    let mut late = room.seat(&["runs", "attach", "last"]);
    assert_eq!(late.end(), 64);
    assert!(late.shown().contains("is over"), "{:?}", late.shown());
}

#[test]
fn a_terminal_that_goes_away_leaves_the_session_running() {
    let room = Room::new();
    let mut seat = room.sit(&waits(), &[]);
    seat.until("ready");
    Seat::signal(seat.pid(), Signal::HUP);
    assert_eq!(seat.end(), 0, "{:?}", seat.shown());
    seat.assert_whole();
    let mut back = room.seat(&["runs", "attach", "last"]);
    back.until("\x1b[?2004h");
    back.types("end\n");
    assert_eq!(back.end(), 0, "{:?}", back.shown());
    drop(seat);
    drop(back);
    room.env.assert_nothing_left();
}

#[test]
fn one_whose_process_was_killed_has_a_whole_terminal_and_can_come_back() {
    let room = Room::new();
    let mut seat = room.sit(&waits(), &[]);
    seat.until("ready");
    Seat::signal(seat.pid(), Signal::KILL);
    assert_eq!(seat.end(), 137, "killed");
    seat.assert_whole();
    let mut back = room.seat(&["runs", "attach", "last"]);
    back.until("\x1b[?2004h");
    back.types("end\n");
    back.until("heard <end>");
    assert_eq!(back.end(), 0, "{:?}", back.shown());
    back.assert_whole();
    assert_eq!(manifest(&room.env.runs()[0])["outcome"], "success");
    drop(seat);
    drop(back);
    room.env.assert_nothing_left();
}
