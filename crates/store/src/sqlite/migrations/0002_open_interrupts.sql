-- A turn looks for what still waits; what was answered long ago must not slow it down.
CREATE INDEX interrupts_open ON interrupts (thread, turn) WHERE answered_at IS NULL;
