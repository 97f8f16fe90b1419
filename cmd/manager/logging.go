package main

import (
	"io"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
)

// newLogger returns the logger of the process. Errors are logged without a stack, which would
// be controller-runtime's own. A panic in a reconciler logs its stack. The level debug has logr's
// verbosity 1, at which client-go logs no bodies of requests: a TokenReview has the bearer token of a
// client that reads the metrics.
func newLogger(format, level string, w io.Writer) logr.Logger {
	least := map[string]slog.Level{"error": slog.LevelError, "info": slog.LevelInfo, "debug": -1}[level]
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: plainLevel}
	if format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(w, options))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(w, options))
}

// plainLevel writes verbosity 1 as DEBUG, instead of slog's DEBUG+3.
func plainLevel(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level < slog.LevelInfo {
		a.Value = slog.StringValue(slog.LevelDebug.String())
	}
	return a
}

// lastWord is a writer that writes nothing more after say: goroutines that outlive the manager
// go on logging.
type lastWord struct {
	mu   sync.Mutex
	w    io.Writer
	said bool
}

// Write drops what is written after say.
func (l *lastWord) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said {
		return len(p), nil
	}
	return l.w.Write(p)
}

// say writes the last text.
func (l *lastWord) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = true
	_, _ = io.WriteString(l.w, text) // there is nowhere left to report to
}
