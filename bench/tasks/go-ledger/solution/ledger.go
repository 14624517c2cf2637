// Package ledger keeps bookings.
package ledger

// Ledger is a list of bookings.
type Ledger struct {
	entries []Entry
}

// Book adds an entry.
func (l *Ledger) Book(cents int, tags ...string) {
	l.entries = append(l.entries, Entry{Cents: cents, Tags: tags})
}

// Correct changes the amount of an entry.
func (l *Ledger) Correct(at, cents int) {
	l.entries[at].Cents = cents
}

// Tag adds a tag in front of the others.
func (l *Ledger) Tag(at int, tag string) {
	entry := &l.entries[at]
	entry.Tags = append(entry.Tags, "")
	copy(entry.Tags[1:], entry.Tags)
	entry.Tags[0] = tag
}

// Sum of all entries.
func (l *Ledger) Sum() int {
	sum := 0
	for _, entry := range l.entries {
		sum += entry.Cents
	}
	return sum
}

// Snapshot gives copies of the entries as they are now.
func (l *Ledger) Snapshot() []Entry {
	entries := make([]Entry, len(l.entries))
	for i, entry := range l.entries {
		entries[i] = Entry{Cents: entry.Cents, Tags: append([]string(nil), entry.Tags...)}
	}
	return entries
}
