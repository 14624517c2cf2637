//! What commands printed, by range.

use holon_store::{StoreWrite, ToolOutputPiece, ToolOutputRange};

use super::on_every_backend;
use super::stage::turn;

#[test]
fn an_output_is_read_by_range_across_its_pieces() {
    on_every_backend(|stage| {
        let id = stage.thread("t-1", "local", "2026-01-01T00:00:00Z");
        let piece = |turn, call: &str, start, body: &str| {
            let (thread, call, body) = (id.clone(), call.to_owned(), body.to_owned());
            StoreWrite::ToolOutput(ToolOutputPiece { thread, turn, call, start, body })
        };
        let writes = vec![
            turn(&id, 1),
            piece(1, "1-1", 0, "ab好"),
            piece(1, "1-1", 5, "cdef"),
            piece(1, "1-1", 9, "gh"),
            piece(1, "1-2", 0, "other"),
            piece(2, "1-1", 0, "later"),
        ];
        stage.write(writes).unwrap();
        let again = stage.again();
        let read = |from, bytes| {
            let ToolOutputRange { from, text, kept } = again.tool_output(&id, 1, "1-1", from, bytes).unwrap();
            (from, text, kept)
        };
        assert_eq!(read(0, 100), (0, "ab好cdefgh".into(), 11));
        assert_eq!(read(1, 3), (1, "b".into(), 11), "whole characters");
        assert_eq!(read(2, 1), (2, "好".into(), 11), "and at least one");
        assert_eq!(read(3, 4), (2, "好c".into(), 11), "from the beginning of the character");
        assert_eq!(read(6, 4), (6, "defg".into(), 11));
        assert_eq!(read(10, 9), (10, "h".into(), 11));
        assert_eq!(read(11, 9), (11, String::new(), 11));
        assert_eq!(read(u64::MAX, 9), (11, String::new(), 11));
        assert_eq!(again.tool_output(&id, 3, "1-1", 0, 9).unwrap(), ToolOutputRange::default());
        stage.write(vec![piece(1, "1-1", 5, "twice")]).unwrap_err();
        stage.write(vec![StoreWrite::DeleteThread(id.clone())]).unwrap();
        assert_eq!(
            stage.backend.tool_output(&id, 1, "1-1", 0, 9).unwrap().kept,
            0,
            "it goes with its thread"
        );
    });
}
