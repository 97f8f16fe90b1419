package history

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// end is the last line of a history file. It contains the numbers of operations and versions, to detect missing lines.
type end struct {
	Operations int `json:"operations"`
	Versions   int `json:"versions"`
}

// Write writes the history as JSON lines, compressed by gzip. The operations come first, then the versions, then a
// line of the kind end. Each line is an object such as {"kind": "version", "version": {...}}. The kinds are
// operation, version and end. Equal histories result in equal bytes.
func Write(w io.Writer, h History) error {
	compressed := gzip.NewWriter(w)
	lines := json.NewEncoder(compressed)
	var err error
	line := func(value any) {
		if err == nil {
			err = lines.Encode(value)
		}
	}
	for _, o := range h.Operations {
		line(struct {
			Kind      string    `json:"kind"`
			Operation Operation `json:"operation"`
		}{"operation", o})
	}
	for _, v := range h.Versions {
		line(struct {
			Kind    string  `json:"kind"`
			Version Version `json:"version"`
		}{"version", v})
	}
	line(struct {
		Kind string `json:"kind"`
		End  end    `json:"end"`
	}{"end", end{len(h.Operations), len(h.Versions)}})
	if err == nil {
		err = compressed.Close()
	}
	if err != nil {
		return fmt.Errorf("writing the operations and versions of a history: %w", err)
	}
	return nil
}
