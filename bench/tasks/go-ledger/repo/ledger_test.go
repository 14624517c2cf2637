package ledger

import "testing"

func TestSnapshot(t *testing.T) {
	var l Ledger
	l.Book(100)
	before := l.Snapshot()
	l.Correct(0, 50)
	if before[0].Cents != 100 {
		t.Fatalf("the snapshot changed to %d", before[0].Cents)
	}
}
