package main

import (
	"fmt"
	"os"

	"example.org/notes/app"
)

func main() {
	notes := app.New("notes")
	if err := notes.Add(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
