package history

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// end is the last line of a history file. The numbers of lines in it show whether lines are missing.
type end struct {
	Operations int `json:"operations"`
	Versions   int `json:"versions"`
}

// Write writes the history as JSON lines, compressed by gzip: the operations, the versions, and a last line
// with the numbers of both. Each line is an object with two keys: kind (operation, version or end), and the
// value under the name of its kind. Equal histories give equal bytes.
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
