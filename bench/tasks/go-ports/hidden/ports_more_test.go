package ports

import (
	"fmt"
	"testing"
)

func TestMoreGood(t *testing.T) {
	for text, want := range map[string]string{
		"22":               "[22]",
		"80,80":            "[80]",
		"10-12,11-13":      "[10 11 12 13]",
		" 5 - 6 , 1":       "[1 5 6]",
		"7-7":              "[7]",
		"65535,1":          "[1 65535]",
	} {
		got, err := ParsePorts(text)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: got %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestMoreBad(t *testing.T) {
	for _, text := range []string{"", "x", "80,", "0", "65536", "9-5", "1-2-3", "-5", "5-", "1-70000"} {
		if got, err := ParsePorts(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
