-- What a command printed, in pieces that begin at a byte, where it is more than its event holds.
CREATE TABLE tool_outputs (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    turn   INTEGER NOT NULL,
    call   TEXT NOT NULL,
    start  INTEGER NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (thread, turn, call, start)
);
