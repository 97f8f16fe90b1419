package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// newLogger returns the logger of the process. Errors are logged without a stack, which would
// be controller-runtime's own. A panic in a reconciler logs its stack.
func newLogger(format string, level logLevel, w io.Writer) logr.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(level), ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		return noBody(plainLevel(groups, a))
	}}
	if format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(w, options))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(w, options))
}

// plainLevel writes every verbosity as DEBUG, instead of slog's DEBUG+3.
func plainLevel(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level < slog.LevelInfo {
		a.Value = slog.StringValue(slog.LevelDebug.String())
	}
	return a
}

// noBody drops the bodies of requests and answers, which client-go logs from verbosity 8 on: a
// TokenReview has the bearer token of a client that reads the metrics.
func noBody(a slog.Attr) slog.Attr {
	if a.Key == "body" {
		a.Value = slog.StringValue(fmt.Sprintf("%d bytes, not logged: there may be credentials in them", len(a.Value.String())))
	}
	return a
}

// logEverythingTo makes controller-runtime and client-go use the logger. Both keep theirs in a
// global.
func logEverythingTo(logger logr.Logger, level logLevel) {
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("v", strconv.Itoa(level.verbosity())) // fails only for what is no number
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
