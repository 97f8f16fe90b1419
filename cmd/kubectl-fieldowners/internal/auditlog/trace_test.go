package auditlog

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// web has 40 requests for one Deployment, recorded from the API server by TestTrace of test/integration/plugin.
//
//go:embed testdata/web.log.gz
var web []byte

func plain(t testing.TB) []byte {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(web))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// traced returns the report of some logs, and the error.
func traced(t testing.TB, texts ...[]byte) (Report, error) {
	t.Helper()
	var logs []Log
	for i, text := range texts {
		logs = append(logs, Log{fmt.Sprint("log", i), bytes.NewReader(text)})
	}
	return Trace(logs, Selection{}, 5)
}

func asJSON(t *testing.T, r Report) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSame: a log gives the same report when it is compressed, divided into two logs, and slightly out of order.
func TestSame(t *testing.T) {
	log := plain(t)
	want, _ := traced(t, log)
	if want.Taken[0].Times != 2 || len(want.Taken) != 33 || len(want.Refused) != 4 || len(want.Fights) != 2 || want.Disordered != 0 {
		t.Fatalf("%d taken, %d refused, %d fights, %d disordered", len(want.Taken), len(want.Refused), len(want.Fights), want.Disordered)
	}
	lines := slices.Collect(bytes.Lines(log))
	swapped := slices.Clone(lines)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range swapped {
		j := min(i+random.IntN(4), len(swapped)-1)
		swapped[i], swapped[j] = swapped[j], swapped[i]
	}
	var halves [2][][]byte
	for i, line := range lines {
		halves[i%2] = append(halves[i%2], line)
	}
	for name, logs := range map[string][][]byte{
		"compressed":             {web},
		"two logs":               {bytes.Join(halves[0], nil), bytes.Join(halves[1], nil)},
		"slightly out of order":  {bytes.Join(swapped, nil)},
		"members in other order": {rearranged(t, lines)},
	} {
		got, _ := traced(t, logs...)
		want, _ := traced(t, log)
		got.From, got.To = want.From, want.To
		for _, f := range [][]*Taken{got.Taken, want.Taken} {
			for _, one := range f {
				one.Last, one.Before, one.After = one.Last.Truncate(1e9), "", ""
			}
		}
		if name == "slightly out of order" { // a write without changes may then count as the write before it
			got.Fights, got.Writers, got.Refused = want.Fights, want.Writers, want.Refused
			for i := range got.Taken {
				got.Taken[i].User = want.Taken[i].User
			}
		}
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
			t.Errorf("%s (-log +got):\n%s", name, diff)
		}
	}
}

// rearranged returns the lines with the members of each object sorted, and with a fake verb in the request.
func rearranged(t *testing.T, lines [][]byte) []byte {
	t.Helper()
	var out []byte
	for _, line := range lines {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		e["annotations"] = map[string]any{"x": `","verb":"get"`}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, text...), '\n')
	}
	return out
}

// TestHostile: lines that are no events are counted and skipped, and a broken log is an error.
func TestHostile(t *testing.T) {
	lines := slices.Collect(bytes.Lines(plain(t)))
	long := append(append([]byte(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"`), bytes.Repeat([]byte("x"), maxLine+5000)...), '\n')
	deep := []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","requestObject":` + strings.Repeat("[", 100_000) + "\n")
	log := bytes.Join([][]byte{
		lines[0], []byte("garbage\n"), []byte("{}\n"), []byte("null\n"), []byte("[]\n"), []byte("\n"), []byte("\x00\xff\n"), long, deep,
		[]byte(`{"kind":"Event","apiVersion":"v1"}` + "\n"), []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"patch"}` + "\n"),
		lines[1][:len(lines[1])/2], []byte("\n"), lines[2], lines[3][:len(lines[3])-2],
	}, nil)
	if got, err := traced(t, log); got.Unreadable != 10 || got.Events != 3 || got.Objects != 1 || err != nil {
		t.Errorf("%d lines unreadable, %d events, %d objects, %v", got.Unreadable, got.Events, got.Objects, err)
	}
	if got, err := traced(t, web[:len(web)/2]); !errors.Is(err, io.ErrUnexpectedEOF) || got.Events == 0 {
		t.Errorf("a compressed log that is cut off: %d events, %v", got.Events, err)
	}
	if _, err := traced(t, []byte{0x1f, 0x8b, 1}); err == nil {
		t.Error("a log that only begins like a compressed one: no error")
	}
}

// TestLevels: without responses only the writers are known, and the values of Secrets are hidden.
func TestLevels(t *testing.T) {
	log := plain(t)
	metadata := cutAll(t, log, "requestObject", "responseObject")
	got, _ := traced(t, bytes.ReplaceAll(metadata, []byte(`"RequestResponse"`), []byte(`"Metadata"`)))
	if len(got.Taken) > 0 || got.Levels["Metadata"] != 40 || len(got.Writers) != 9 || len(got.Refused) != 4 {
		t.Errorf("%d taken, %d writers, %d refused, %v", len(got.Taken), len(got.Writers), len(got.Refused), got.Levels)
	}
	secret := strings.NewReplacer(`"kind":"Deployment"`, `"kind":"Secret"`, `"apiVersion":"apps/v1"`, `"apiVersion":"v1"`, "f:spec", "f:data", `"spec"`, `"data"`)
	got, _ = traced(t, []byte(secret.Replace(string(log))))
	if len(got.Taken) == 0 || !slices.ContainsFunc(got.Taken, func(one *Taken) bool { return one.After == "(hidden)" }) {
		t.Errorf("a value of a Secret is shown: %s", asJSON(t, got))
	}
}

func cutAll(t *testing.T, log []byte, members ...string) (out []byte) {
	t.Helper()
	for line := range bytes.Lines(log) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		for _, member := range members {
			delete(e, member)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, text...), '\n')
	}
	return out
}

// BenchmarkTrace reads heartbeats: 100 objects whose statuses change all the time, while their owners stay the same.
func BenchmarkTrace(b *testing.B) {
	line := string(slices.Collect(bytes.Lines(plain(b)))[0])
	_, version, _ := strings.Cut(line, `"resourceVersion":"`)
	version, _, _ = strings.Cut(version, `"`)
	var log strings.Builder
	for i := range 2000 {
		log.WriteString(strings.NewReplacer(`"resourceVersion":"`+version, fmt.Sprintf(`"resourceVersion":"%d`, 1000+i), "web-0", fmt.Sprint("web-", i%100)).Replace(line))
	}
	text := []byte(log.String())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if got, _ := traced(b, text); got.Objects != 100 || got.Disordered > 0 {
			b.Fatal(got)
		}
	}
}
