package app

import (
	"os"
	"path/filepath"
)

func (n *Notes) write(name, text string) error {
	if err := os.MkdirAll(n.folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.folder, name), []byte(text), 0o644)
}
