package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// line is one line of a file: exactly one of the three is set, by Kind.
type line struct {
	Kind      string     `json:"kind"`
	Operation *Operation `json:"operation,omitempty"`
	Version   *Version   `json:"version,omitempty"`
	End       *end       `json:"end,omitempty"`
}

// end is the last line. It tells a complete file from one that lost lines and was compressed again.
type end struct {
	Operations int `json:"operations"`
	Versions   int `json:"versions"`
}

// Kinds of lines.
const (
	kindOperation = "operation"
	kindVersion   = "version"
	kindEnd       = "end"
)

// Write writes the history as gzip'd JSON lines: the operations, the versions, and a last line with their numbers. The
// same history gives the same bytes.
func Write(w io.Writer, h History) error {
	compressed := gzip.NewWriter(w)
	lines := json.NewEncoder(compressed)
	for i := range h.Operations {
		if err := lines.Encode(line{Kind: kindOperation, Operation: &h.Operations[i]}); err != nil {
			return fmt.Errorf("writing operation %d of a history: %w", i+1, err)
		}
	}
	for i := range h.Versions {
		if err := lines.Encode(line{Kind: kindVersion, Version: &h.Versions[i]}); err != nil {
			return fmt.Errorf("writing version %d of a history: %w", i+1, err)
		}
	}
	last := line{Kind: kindEnd, End: &end{Operations: len(h.Operations), Versions: len(h.Versions)}}
	if err := lines.Encode(last); err != nil {
		return fmt.Errorf("writing the end of a history: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return fmt.Errorf("writing the end of a history: %w", err)
	}
	return nil
}

// Read reads what Write wrote. Anything else is an error that names the line, a file that ends early included: it never
// gives a part of a history.
func Read(r io.Reader) (History, error) {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return History{}, fmt.Errorf("history: no gzip file: %w", err)
	}
	var (
		h     History
		lines = bufio.NewReader(compressed)
	)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the file ends early")
			}
			return History{}, fmt.Errorf("history, line %d: %w", n, err)
		}
		done, err := h.add(text)
		if err != nil {
			return History{}, fmt.Errorf("history, line %d: %w", n, err)
		}
		if done {
			return h.ended(lines, n+1)
		}
	}
}

// ended returns the history if nothing follows; gzip compares its checksum meanwhile.
func (h History) ended(lines *bufio.Reader, n int) (History, error) {
	switch _, err := lines.ReadByte(); {
	case err == nil:
		return History{}, fmt.Errorf("history, line %d: there is something after the end", n)
	case !errors.Is(err, io.EOF):
		return History{}, fmt.Errorf("history, line %d: %w", n, err)
	}
	return h, nil
}

// add takes one line; true says that it was the last.
func (h *History) add(text []byte) (bool, error) {
	var l line
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&l); err != nil {
		return false, fmt.Errorf("not a line of a history: %w", err)
	}
	if rest := bytes.TrimSpace(text[strict.InputOffset():]); len(rest) > 0 {
		return false, errors.New("not a line of a history: there is something after its object")
	}
	switch {
	case l.Kind == kindOperation && l.Operation != nil && l.Version == nil && l.End == nil:
		return false, h.addOperation(*l.Operation)
	case l.Kind == kindVersion && l.Version != nil && l.Operation == nil && l.End == nil:
		return false, h.addVersion(*l.Version)
	case l.Kind == kindEnd && l.End != nil && l.Operation == nil && l.Version == nil:
		if got := (end{len(h.Operations), len(h.Versions)}); got != *l.End {
			return false, fmt.Errorf("there are %d operations and %d versions before the end, which counts %d and %d: lines are missing",
				got.Operations, got.Versions, l.End.Operations, l.End.Versions)
		}
		return true, nil
	}
	return false, fmt.Errorf("kind %q is none of %s, %s and %s, or has no value of its own",
		l.Kind, kindOperation, kindVersion, kindEnd)
}

func (h *History) addOperation(o Operation) error {
	switch o.Outcome {
	case Landed, GaveUp, Rejected, Failed, Unknown, Noted:
	default:
		return fmt.Errorf("no outcome of an operation: %q", o.Outcome)
	}
	if len(h.Versions) > 0 {
		return errors.New("an operation after the versions")
	}
	h.Operations = append(h.Operations, o)
	return nil
}

func (h *History) addVersion(v Version) error {
	if n := len(h.Versions); n > 0 && v.Revision <= h.Versions[n-1].Revision {
		return fmt.Errorf("revision %d after %d: versions stand in the order of their revisions",
			v.Revision, h.Versions[n-1].Revision)
	}
	h.Versions = append(h.Versions, v)
	return nil
}
