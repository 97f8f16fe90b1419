package history

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// end is the last line. It tells a complete file from one that lost lines and was compressed again.
type end struct {
	Operations int `json:"operations"`
	Versions   int `json:"versions"`
}

// Write writes the history as gzip'd JSON lines: the operations, the versions, and a last line with their numbers. Each is an
// object with its kind (operation, version, end), under which its value stands. The same history gives the same bytes.
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
		return fmt.Errorf("writing a history: %w", err)
	}
	return nil
}
