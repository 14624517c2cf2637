package ports

import (
	"reflect"
	"testing"
)

func TestPorts(t *testing.T) {
	got, err := ParsePorts("443, 8000-8003,80")
	want := []int{80, 443, 8000, 8001, 8002, 8003}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
}
