class Cache:
    """Values by key, at most `room` of them; the oldest goes first."""

    def __init__(self, room=100):
        self.room = room
        self.values = {}

    def get(self, key, make):
        if key not in self.values:
            if len(self.values) >= self.room:
                self.values.pop(next(iter(self.values)))
            self.values[key] = make()
        return self.values[key]

    def forget(self):
        self.values.clear()
