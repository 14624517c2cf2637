package day

import "testing"

func TestDay(t *testing.T) {
	if got := DayOfYear(1900, 3, 1); got != 60 {
		t.Errorf("1900-03-01 is day %d, want 60", got)
	}
	if got := DayOfYear(2024, 2, 29); got != 60 {
		t.Errorf("2024-02-29 is day %d, want 60", got)
	}
}
