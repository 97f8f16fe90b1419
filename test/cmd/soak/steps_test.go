package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStepsNameDirectories checks that each step tests packages that are in the tree.
func TestStepsNameDirectories(t *testing.T) {
	for _, s := range steps {
		for _, argument := range s.arguments {
			if !strings.HasPrefix(argument, ".") {
				continue
			}
			directory := filepath.Join("..", "..", "..", s.module, strings.TrimSuffix(argument, "..."))
			if _, err := os.Stat(directory); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
}
