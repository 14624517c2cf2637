package ledger

import "testing"

func TestMoreIndependence(t *testing.T) {
	var l Ledger
	tags := []string{"food", "cash"}
	l.Book(100, tags...)
	l.Book(20)
	snapshot := l.Snapshot()
	snapshot[1].Cents = 7
	snapshot[0].Tags[0] = "spoiled"
	if l.Sum() != 120 {
		t.Errorf("the sum changed to %d", l.Sum())
	}
	if got := l.Snapshot()[0].Tags[0]; got != "food" {
		t.Errorf("the tag changed to %q", got)
	}
	l.Tag(0, "new")
	if got := l.Snapshot()[0].Tags; len(got) != 3 || got[0] != "new" || got[1] != "food" || got[2] != "cash" {
		t.Errorf("tags are %q", got)
	}
	if got := snapshot[0].Tags; len(got) != 2 || got[1] != "cash" {
		t.Errorf("tags of the snapshot are %q", got)
	}
}

func TestMoreEmpty(t *testing.T) {
	var l Ledger
	if len(l.Snapshot()) != 0 {
		t.Error("an empty ledger has entries")
	}
}
