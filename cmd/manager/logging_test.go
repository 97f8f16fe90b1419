package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestLogger(t *testing.T) {
	for _, tt := range []struct {
		reason, level string
		want          []string // messages that appear
	}{
		{"errors only", "error", []string{"failed"}},
		{"the default", "info", []string{"failed", "told"}},
		{"one step more", "debug", []string{"failed", "told", "detail"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			var out bytes.Buffer
			logger := newLogger("json", tt.level, &out)
			logger.Error(errors.New("why"), "failed")
			logger.Info("told")
			logger.V(1).Info("detail")
			logger.V(3).Info("more detail")
			var got []string
			for line := range strings.Lines(out.String()) {
				var entry struct{ Msg, Level string }
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				if strings.Contains(entry.Level, "+") || strings.Contains(entry.Level, "-") {
					t.Errorf("level %s", entry.Level)
				}
				got = append(got, entry.Msg)
			}
			if strings.Join(got, ",") != strings.Join(tt.want, ",") {
				t.Errorf("logged %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLastWord(t *testing.T) {
	var out bytes.Buffer
	w := &lastWord{w: &out}
	write := func(text string) {
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("Write gave %d, %v", n, err)
		}
	}
	write("before\n")
	w.say("last\n")
	write("after\n")
	if got := out.String(); got != "before\nlast\n" {
		t.Errorf("got %q", got)
	}
}
