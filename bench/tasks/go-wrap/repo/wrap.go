// Package wrap breaks text into lines.
package wrap

import "strings"

// Wrap breaks text at spaces into lines of at most width bytes. A word that is longer gets a line of its own.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line == "" {
			line = word
		} else if len(line)+len(word)+1 < width {
			line += " " + word
		} else {
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
