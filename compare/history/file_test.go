package history

import (
	"bytes"
	"compress/gzip"
	"io"
	"reflect"
	"strings"
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

func TestAFileHoldsTheHistory(t *testing.T) {
	for _, h := range []History{sample(), {}} {
		file := written(t, h)
		got, err := Read(bytes.NewReader(file))
		if err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("read %+v, %v; want %+v", got, err, h)
		}
		if !bytes.Equal(file, written(t, h)) {
			t.Error("the same history gave other bytes")
		}
	}
}

func TestAPartOfAFileIsNoHistory(t *testing.T) {
	file := written(t, sample())
	for n := range file {
		got, err := Read(bytes.NewReader(file[:n]))
		if err == nil || !reflect.DeepEqual(got, History{}) {
			t.Fatalf("%d of %d bytes: %+v, %v; want nothing but an error", n, len(file), got, err)
		}
	}
}

func compressed(t *testing.T, text string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestReadSaysWhatIsWrongAndWhere(t *testing.T) {
	const (
		operation = `{"kind":"operation","operation":{"writer":0,"sequence":0,"object":"o","beginNs":0,"endNs":0,"outcome":"landed"}}` + "\n"
		version   = `{"kind":"version","version":{"object":"o","revision":7}}` + "\n"
	)
	tests := map[string]struct{ text, want string }{
		"nothing":        {"", "line 1: the file ends early"},
		"no end":         {operation + version, "line 3: the file ends early"},
		"line cut off":   {operation + version[:20], "line 2: the file ends early"},
		"too few":        {version + `{"kind":"end","end":{"operations":1,"versions":1}}` + "\n", "line 2: there are 0 operations and 1 versions before the end, which counts 1 and 1"},
		"no JSON":        {operation + "x\n", "line 2: not a line of a history"},
		"two on a line":  {`{"kind":"end","end":{"operations":0,"versions":0}} {}` + "\n", "line 1: not a line of a history"},
		"unknown field":  {`{"kind":"version","version":{"object":"o","revision":7,"x":1}}` + "\n", "line 1: not a line of a history"},
		"unknown kind":   {`{"kind":"x"}` + "\n", `line 1: kind "x" is none of`},
		"value missing":  {`{"kind":"version"}` + "\n", `line 1: kind "version" is none of`},
		"outcome":        {strings.Replace(operation, "landed", "fell", 1), `line 1: no outcome of an operation: "fell"`},
		"order":          {version + version, "line 2: revision 7 after 7"},
		"operation late": {version + operation, "line 2: an operation after the versions"},
		"after the end":  {`{"kind":"end","end":{"operations":0,"versions":0}}` + "\n\n", "line 2: there is something after the end"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Read(compressed(t, test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) || !reflect.DeepEqual(got, History{}) {
				t.Errorf("got %+v, error %v; want nothing, and an error with %q", got, err, test.want)
			}
		})
	}
	if _, err := Read(strings.NewReader("plain")); err == nil || !strings.Contains(err.Error(), "no gzip file") {
		t.Errorf("a plain file: %v", err)
	}
}
