package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(".", os.Stderr)) }

// run works in the folder of go.mod.
func run(root string, stderr io.Writer) int {
	if err := writeFiles(root); err != nil {
		fmt.Fprintln(stderr, "generate:", err)
		return 1
	}
	return 0
}

func writeFiles(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return removeOtherRoles(root, files)
}
