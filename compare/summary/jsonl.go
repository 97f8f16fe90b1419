package summary

import (
	"bytes"
	"encoding/json"
)

// JSONLines returns the content of the file results.jsonl: one JSON object per line. Each object has a single key, which is
// the type of the item: run, answer, square, row, comparison or check. The value is the item itself.
func (s Summary) JSONLines() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	err := encoder.Encode(map[string]Info{"run": s.Run})
	err = lines(encoder, err, "answer", s.Answers)
	err = lines(encoder, err, "square", s.Squares)
	err = lines(encoder, err, "row", s.Rows)
	err = lines(encoder, err, "comparison", s.Comparisons)
	err = lines(encoder, err, "check", s.Checks)
	return out.Bytes(), err
}

func lines[T any](encoder *json.Encoder, err error, key string, all []T) error {
	for _, one := range all {
		if err == nil {
			err = encoder.Encode(map[string]T{key: one})
		}
	}
	return err
}
