package main

import (
	"io"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
)

// newLogger returns the logger of the manager. It logs errors without a stack trace, which would only show controller-runtime's code;
// only a panic in a reconciler logs a stack trace. The level debug is logr's verbosity 1. At this verbosity client-go does not log
// request bodies, which may be secret: a TokenReview contains the bearer token of a metrics client.
func newLogger(format, level string, w io.Writer) logr.Logger {
	least := map[string]slog.Level{"error": slog.LevelError, "info": slog.LevelInfo, "debug": -1}[level]
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: plainLevel}
	if format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(w, options))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(w, options))
}

// plainLevel makes the logger print the level of logr's verbosity 1 as DEBUG; slog would print DEBUG+3.
func plainLevel(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level < slog.LevelInfo {
		a.Value = slog.StringValue(slog.LevelDebug.String())
	}
	return a
}

// lastWord is a writer for stderr that discards everything written after a call of say. Goroutines that
// outlive the manager continue to log, but the last line on stderr must be the error of the manager.
type lastWord struct {
	mu   sync.Mutex
	w    io.Writer
	said bool
}

// Write writes p to the underlying writer, or discards p after a call of say.
func (l *lastWord) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said {
		return len(p), nil
	}
	return l.w.Write(p)
}

// say writes text. From then on, Write discards everything.
func (l *lastWord) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = true
	_, _ = io.WriteString(l.w, text) // an error of stderr cannot be reported
}
