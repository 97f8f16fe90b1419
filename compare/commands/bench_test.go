package commands

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNotes: what people wrote below the table outlives the next measurement.
func TestNotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "performance.md")
	if notes, err := notesIn(file); notes != "" || err != nil {
		t.Errorf("of no file: %q, %v", notes, err)
	}
	if _, err := notesIn(filepath.Dir(file)); err == nil {
		t.Error("what cannot be read must not be written over")
	}
	for content, want := range map[string]string{
		"# Performance\n": "",
		"# Performance\n" + notesHeading + "\nThe machine.\n": notesHeading + "\nThe machine.\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if notes, err := notesIn(file); notes != want || err != nil {
			t.Errorf("%q, %v", notes, err)
		}
	}
}
