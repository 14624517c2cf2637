package wrap

import (
	"reflect"
	"testing"
)

func TestWrap(t *testing.T) {
	got := Wrap("one two three", 7)
	want := []string{"one two", "three"}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}
