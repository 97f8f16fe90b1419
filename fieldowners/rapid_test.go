package fieldowners_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"coapply.dev/fieldowners"
)

var (
	anyName = rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "a", "b", "spec", ".", "a.b", "a.b/c", "[0]", `["a"]`, `a"b`, `a\b`, `=`, `="v"`, ",", "a,b=c", "f:a", "k:{}", " ", "a b",
			"\n", "\t", "\x00", "\x7f", "é", "e\u0301", "日本", "🙂", "\u2028", "\ufffd", "<&>", "-a", "0", "$ref",
		}),
		rapid.String(),
	)
	anyScalar = rapid.OneOf(
		rapid.Map(anyName, func(s string) any { return s }),
		rapid.Map(rapid.Int64Range(-1<<53, 1<<53), func(n int64) any { return n }),
		rapid.Map(rapid.Float64(), func(n float64) any { return n }),
		rapid.SampledFrom([]any{nil, true, false, 0, 1, "1", "true", "null"}),
	)
	anyElement = rapid.OneOf(
		rapid.Map(anyName, func(s string) string { return "f:" + s }),
		rapid.Map(anyScalar, func(v any) string { return "v:" + jsonOf(v) }),
		rapid.Map(rapid.MapOfN(anyName, anyScalar, 1, 3), func(m map[string]any) string { return "k:" + jsonOf(m) }),
		rapid.Map(rapid.IntRange(0, 99), func(n int) string { return fmt.Sprint("i:", n) }),
	)
	// fewElements make sets that have fields in common.
	fewElements = rapid.SampledFrom([]string{"f:a", "f:b", "f:a.b", `k:{"name":"x"}`, `k:{"name":"y"}`, `v:1`, `v:"1"`})
)

func jsonOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// drawFields draws FieldsV1, as objects in objects, without the package under test.
func drawFields(t *rapid.T, element *rapid.Generator[string], depth int) map[string]any {
	fields := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		below := map[string]any{}
		if depth > 0 && rapid.Bool().Draw(t, "deeper") {
			below = drawFields(t, element, depth-1)
		}
		if len(below) > 0 && rapid.Bool().Draw(t, "self") {
			below["."] = map[string]any{}
		}
		fields[element.Draw(t, "element")] = below
	}
	return fields
}

// drawOwnership draws entries of few identities; one that occurs twice is merged.
func drawOwnership(t *rapid.T, element *rapid.Generator[string]) fieldowners.Ownership {
	for {
		var entries []metav1.ManagedFieldsEntry
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			e := entry(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "manager"), metav1.ManagedFieldsOperationApply, jsonOf(drawFields(t, element, 3)))
			e.Subresource = rapid.SampledFrom([]string{"", "status"}).Draw(t, "subresource")
			if seconds := rapid.Int64Range(0, 3).Draw(t, "time"); seconds > 0 {
				e.Time = &metav1.Time{Time: time.Unix(seconds, 0)}
			}
			entries = append(entries, e)
		}
		o, err := fieldowners.Parse(entries)
		if err == nil {
			return o
		}
		if !strings.Contains(err.Error(), "occurs twice") { // as v:0 and v:-0, which are one field
			t.Fatal(err)
		}
	}
}

func TestRapidEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOwnership(t, anyElement)
		entries, err := o.ManagedFields()
		if err != nil {
			t.Fatal(err)
		}
		again, err := fieldowners.Parse(entries)
		if err != nil || !again.Equal(o) {
			t.Fatalf("%v: written as %v", err, entries)
		}
		slices.Reverse(entries)
		if reversed, err := fieldowners.Parse(entries); err != nil || !reversed.Equal(o) {
			t.Fatalf("the order of entries matters (%v)", err)
		}
	})
}

func TestRapidPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, e := range drawOwnership(t, anyElement).Entries() {
			for _, path := range e.Fields() {
				again, err := fieldowners.ParsePath(path.String())
				if err != nil || !again.Equal(path) || again.String() != path.String() {
					t.Fatalf("%s is read as %s (%v)", path, again, err)
				}
			}
		}
	})
}

func TestRapidDiffLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawOwnership(t, fewElements), drawOwnership(t, fewElements)
		if d := fieldowners.Diff(a, a); !d.IsEmpty() {
			t.Fatalf("to itself:\n%v", d)
		}
		if d := fieldowners.Diff(a, fieldowners.OwnershipOf(slices.Concat(a.Entries(), b.Entries())...)); len(d.Lost)+len(d.Moved) > 0 {
			t.Fatalf("lost by a union:\n%v", d)
		}
		there, back := fieldowners.Diff(a, b), fieldowners.Diff(b, a)
		swapped := fieldowners.Difference{Gained: back.Lost, Lost: back.Gained}
		for _, m := range back.Moved {
			swapped.Moved = append(swapped.Moved, fieldowners.Moved{Path: m.Path, From: m.To, To: m.From})
		}
		if diff := cmp.Diff(sortedLines(there), sortedLines(swapped)); diff != "" {
			t.Fatalf("back is not the reverse (-there +back):\n%s", diff)
		}
	})
}

func sortedLines(d fieldowners.Difference) []string {
	lines := slices.Concat(texts(d.Gained), []string{"|"}, texts(d.Lost), []string{"|"})
	var moved []string
	for _, m := range d.Moved {
		moved = append(moved, m.String())
	}
	slices.Sort(moved) // of one field, by whom it comes from
	return append(lines, moved...)
}
