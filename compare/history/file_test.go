package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

func sample() History {
	return History{
		Operations: []Operation{
			{
				Writer: 1, Sequence: 2, Object: "ConfigMap/n/a", Manager: "m-1", Begin: 5, End: 9, Outcome: Landed, Revision: "12",
				Wants: map[string]string{".data.b": "x\ny", ".data.a": ""},
			},
			{Writer: -1, Object: "ConfigMap/n/a", Outcome: Noted, Increments: ".data.n"},
			{Object: "ConfigMap/n/a", Outcome: Failed, Error: "no \"route\" <host>", Skipped: true},
		},
		Versions: []Version{
			{Object: "ConfigMap/n/a", Revision: 11},
			{Object: "ConfigMap/n/a", Revision: 12, Fields: map[string]string{".data.b": "x\ny", ".data.c": "ü"}},
			{Object: "ConfigMap/n/a", Revision: 18446744073709551615, Deleted: true},
		},
	}
}

func written(t *testing.T, h History) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWrite: a file has a line for each operation and version, in their order, and one with their numbers.
func TestWrite(t *testing.T) {
	for _, h := range []History{sample(), {}} {
		file := written(t, h)
		if !bytes.Equal(file, written(t, h)) {
			t.Error("the same history gave other bytes")
		}
		text, err := gzip.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var got History
		var kinds []string
		var last *end
		for lines := json.NewDecoder(text); lines.More(); {
			var line struct {
				Kind      string
				Operation *Operation
				Version   *Version
				End       *end
			}
			if err := lines.Decode(&line); err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, line.Kind)
			switch last = line.End; {
			case line.Operation != nil:
				got.Operations = append(got.Operations, *line.Operation)
			case line.Version != nil:
				got.Versions = append(got.Versions, *line.Version)
			}
		}
		if !reflect.DeepEqual(got, h) {
			t.Errorf("read %+v, want %+v", got, h)
		}
		if last == nil || *last != (end{len(h.Operations), len(h.Versions)}) || !slices.IsSortedFunc(kinds, inFile) {
			t.Errorf("lines %v, the last %+v", kinds, last)
		}
	}
}

func inFile(a, b string) int {
	order := []string{"operation", "version", "end"}
	return slices.Index(order, a) - slices.Index(order, b)
}
