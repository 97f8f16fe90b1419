package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestHelpFitsAScreen: no command's help has more than 30 lines, or a line of more than 100 columns.
func TestHelpFitsAScreen(t *testing.T) {
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		out.Reset()
		cmd.SetOut(out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "\n"); lines > 30 {
			t.Errorf("%s --help has %d lines", cmd.CommandPath(), lines)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 100 {
				t.Errorf("%s --help: %s", cmd.CommandPath(), line)
			}
		}
		for _, below := range cmd.Commands() {
			look(below)
		}
	}
	look(newRoot(streams))
}
