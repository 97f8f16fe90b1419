package localcluster

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
)

// lastLines keeps the end of what is written to it, for an error message. It leaves out what go build -v prints for every
// package, which would push out the reason, and counts that.
type lastLines struct {
	keep     int
	compiled *atomic.Int64 // may be nil
	lines    []string
	partial  []byte
}

func (l *lastLines) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.add(string(line))
		l.partial = rest
	}
}

func (l *lastLines) add(line string) {
	if isPackageLine(line) && l.compiled != nil {
		l.compiled.Add(1)
	}
	if line == "" || isPackageLine(line) || strings.HasPrefix(line, "go: downloading ") {
		return
	}
	l.lines = append(l.lines, line)
	if extra := len(l.lines) - l.keep; extra > 0 {
		l.lines = l.lines[extra:]
	}
}

func (l *lastLines) mention(text string) bool { return strings.Contains(l.String(), text) }

func (l *lastLines) String() string {
	lines := l.lines
	if len(l.partial) > 0 {
		lines = append(slices.Clip(lines), string(l.partial))
	}
	return strings.Join(lines, "\n")
}

// isPackageLine reports whether a line is an import path, as go build -v prints for each
// package.
func isPackageLine(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:#")
}
