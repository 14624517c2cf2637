/// The last few values that were used, by key.
pub struct Recent {
    room: usize,
    /// Used longest ago first.
    entries: Vec<(String, String)>,
}

impl Recent {
    pub fn new(room: usize) -> Self {
        Self { room, entries: Vec::new() }
    }

    pub fn put(&mut self, key: &str, value: &str) {
        self.entries.retain(|(own, _)| own != key);
        self.entries.push((key.to_string(), value.to_string()));
        if self.entries.len() > self.room {
            self.entries.remove(0);
        }
    }

    pub fn get(&mut self, key: &str) -> Option<String> {
        let at = self.entries.iter().position(|(own, _)| own == key)?;
        let entry = self.entries.remove(at);
        let value = entry.1.clone();
        self.entries.push(entry);
        Some(value)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
