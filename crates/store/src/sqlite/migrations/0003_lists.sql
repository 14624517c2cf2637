-- Lists of texts that only ever get longer, or another end: what is written again is what changed.
CREATE TABLE kept_items (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    name   TEXT NOT NULL,
    place  INTEGER NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (thread, name, place)
);

-- Conversations were one text each, with everything that was said inside it.
INSERT INTO kept_items (thread, name, place, body)
SELECT kept.thread, kept.name, said.key, said.value
FROM kept, json_each(CASE WHEN json_valid(kept.body) THEN kept.body ELSE '{}' END, '$.messages') AS said
WHERE kept.name = 'conversation';
UPDATE kept SET body = json_remove(body, '$.messages') WHERE name = 'conversation' AND json_valid(body);

-- An upload belongs to the thread whose message named it first, and goes with it.
ALTER TABLE uploads ADD COLUMN thread TEXT REFERENCES threads (id) ON DELETE CASCADE;
CREATE INDEX uploads_of_thread ON uploads (thread);
