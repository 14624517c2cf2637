package wrap

import (
	"strings"
	"testing"
)

func TestMore(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"a b c d", 3, "a b|c d"},
		{"a b c d", 1, "a|b|c|d"},
		{"aa bb", 4, "aa|bb"},
		{"aa bb", 5, "aa bb"},
		{"extraordinary x y", 5, "extraordinary|x y"},
		{"  much   space  ", 10, "much space"},
	} {
		if got := strings.Join(Wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("%q at %d: got %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
