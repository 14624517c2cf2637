-- A thread that goes on from the middle of another one; a family is everything that began as one thread.
ALTER TABLE threads ADD COLUMN branch_of TEXT;
ALTER TABLE threads ADD COLUMN branch_turn INTEGER;
ALTER TABLE threads ADD COLUMN family TEXT NOT NULL DEFAULT '';
UPDATE threads SET family = id;
CREATE INDEX threads_of_family ON threads (family, updated_at DESC, id DESC);

-- How a conversation stood when a turn began: everything but what was said.
CREATE TABLE turn_starts (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    turn   INTEGER NOT NULL,
    rest   TEXT,
    PRIMARY KEY (thread, turn)
);

-- What was said, with the turn it was said in; and what a later turn said differently. Nobody knows any more when the
-- words of before came, so they count as of the last turn.
ALTER TABLE kept_items ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
UPDATE kept_items SET since = coalesce((SELECT turns FROM threads WHERE id = kept_items.thread), 0);
CREATE TABLE former_items (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    name   TEXT NOT NULL,
    place  INTEGER NOT NULL,
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (thread, name, place, since)
);
