// Package app keeps notes.
package app

import "strings"

// Notes is the application.
type Notes struct {
	folder string
}

// New opens the notes in a folder.
func New(folder string) *Notes {
	return &Notes{folder: folder}
}

// Add stores a note under a title.
func (n *Notes) Add(title, text string) error {
	return n.write(strings.ToLower(title), text)
}
