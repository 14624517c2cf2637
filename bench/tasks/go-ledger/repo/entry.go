package ledger

// Entry is one booking.
type Entry struct {
	Cents int
	Tags  []string
}
