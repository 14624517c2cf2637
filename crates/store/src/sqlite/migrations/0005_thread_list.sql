-- What people do with their list of threads.
ALTER TABLE threads ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;

-- What was answered, in one piece by turn: an answer comes in many events, and a search must find words across them.
CREATE TABLE answers (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    turn   INTEGER NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (thread, turn)
);
INSERT INTO answers (thread, turn, body)
SELECT thread, turn, group_concat(json_extract(data, '$.text'), '' ORDER BY seq)
FROM events WHERE kind = 'message' AND json_valid(data) GROUP BY thread, turn
HAVING group_concat(json_extract(data, '$.text'), '') <> '';
