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
		{"a number", "3", []string{"failed", "told", "detail", "more detail"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			var level logLevel
			if err := level.Set(tt.level); err != nil || level.String() != tt.level {
				t.Fatalf("level %s: %v", level.String(), err)
			}
			var out bytes.Buffer
			logger := newLogger("json", level, &out)
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

// TestNoBodyIsLogged: one of a request may hold a token.
func TestNoBodyIsLogged(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		newLogger(format, -maxVerbosity, &out).V(8).Info("Request Body", "body", `{"token":"secret"}`, "url", "https://host")
		if got := out.String(); strings.Contains(got, "secret") || !strings.Contains(got, "18 bytes") || !strings.Contains(got, "https://host") {
			t.Errorf("%s: %s", format, got)
		}
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
