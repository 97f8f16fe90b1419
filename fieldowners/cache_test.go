package fieldowners

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func cached(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// TestParseOnce holds that the same bytes are parsed once: everybody who has them
// has the same set.
func TestParseOnce(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{
		cached("a", `{"f:once":{}}`), cached("b", `{"f:once":{}}`), cached("c", ` {"f:once":{}}`),
	}
	first, err := Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := first.entries[0].fields, first.entries[1].fields, first.entries[2].fields
	if a != b || a != second.entries[0].fields || c != second.entries[2].fields {
		t.Error("the same bytes were parsed again")
	}
	if a == c {
		t.Error("other bytes gave the same set")
	}
	many := strings.Repeat(`,"f:x%d":{}`, 100)
	numbers := make([]any, 100)
	for i := range numbers {
		numbers[i] = i
	}
	large := []metav1.ManagedFieldsEntry{cached("a", "{"+fmt.Sprintf(many, numbers...)[1:]+"}")}
	if n := testing.AllocsPerRun(100, func() { _, _ = Parse(large) }); n > 3 {
		t.Errorf("%v allocations to read 100 fields that were read before", n)
	}
}

// TestParseErrsAgain holds that malformed fields are refused as often as they come.
func TestParseErrsAgain(t *testing.T) {
	for range 2 {
		if _, err := Parse([]metav1.ManagedFieldsEntry{cached("a", `{"f:once":{}`)}); err == nil {
			t.Error("accepted")
		}
	}
}

// TestSharedSets holds that what is made of an ownership leaves the sets alone that
// others have too.
func TestSharedSets(t *testing.T) {
	const one, other = `{"f:spec":{"f:a":{},"f:l":{"k:{\"name\":\"x\"}":{".":{},"f:i":{}}}}}`, `{"f:spec":{"f:b":{},"f:l":{"k:{\"name\":\"x\"}":{"f:j":{}}}}}`
	entries := []metav1.ManagedFieldsEntry{cached("a", one), cached("b", other), cached("c", other)}
	entries[1].Operation = metav1.ManagedFieldsOperationUpdate
	doubled := append([]metav1.ManagedFieldsEntry{cached("a", other)}, entries...)
	before, err := Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	for _, transfer := range []Transfer{
		{From: []Source{{Manager: "b"}}, Operation: metav1.ManagedFieldsOperationUpdate, To: "a", APIVersion: "v1"},
		{From: []Source{{Manager: "c", Paths: []Path{MustParsePath(".spec.l")}}}, Operation: metav1.ManagedFieldsOperationApply, To: "new", APIVersion: "v1"},
	} {
		for _, list := range [][]metav1.ManagedFieldsEntry{entries, doubled} {
			plan, err := transfer.Plan(list, nil)
			if err != nil {
				t.Fatal(err)
			}
			if rewritten, err := plan.Rewrite(list); err != nil || len(plan.Moved) == 0 || plan.Done(rewritten) != nil {
				t.Fatalf("%v, %v", plan, err)
			}
		}
	}
	merged, err := Parse(doubled)
	if err != nil {
		t.Fatal(err)
	}
	OwnershipOf(append(before.Entries(), merged.Entries()...)...)
	Diff(merged, before)
	for i, fields := range []string{one, other, other} {
		set, err := decodeFields(fields)
		if err != nil || !set.Equals(before.entries[i].fields) {
			t.Errorf("%s changed to %s (%v)", fields, before.entries[i].fields, err)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c fieldsCache
	const width = 1000
	n := 4 * cacheGeneration / width
	for i := range n {
		if _, err := c.parse(fmt.Appendf(nil, `{"f:%0*d":{}}`, width-8, i)); err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for _, generation := range []map[string]remembered{c.young, c.old} {
		bytes := 0
		for text := range generation {
			bytes += len(text) + cacheOverhead
		}
		if kept += len(generation); bytes > cacheGeneration {
			t.Errorf("a generation of %d bytes, want at most %d", bytes, cacheGeneration)
		}
	}
	if kept < n/5 || kept > n/2 {
		t.Errorf("%d of %d are kept", kept, n)
	}
	large := []byte(`{"f:` + strings.Repeat("x", cacheLargest) + `":{}}`)
	one, err := c.parse(large)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.parse(large); err != nil || again == one || c.young[string(large)].set != nil {
		t.Errorf("%v: one that is too large is kept", err)
	}
}

// TestCacheKeepsWhatIsUsed asks for one set while many others come and go.
func TestCacheKeepsWhatIsUsed(t *testing.T) {
	var c fieldsCache
	used, err := c.parse([]byte(`{"f:used":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 * cacheGeneration / 1000 {
		if _, err := c.parse(fmt.Appendf(nil, `{"f:%0*d":{}}`, 1000, i)); err != nil {
			t.Fatal(err)
		}
		if set, err := c.parse([]byte(`{"f:used":{}}`)); err != nil || set != used {
			t.Fatalf("forgotten after %d others (%v)", i, err)
		}
	}
}

// TestCacheTogether has many goroutines parse the same and other fields: the race
// detector looks on.
func TestCacheTogether(t *testing.T) {
	var c fieldsCache
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 500 {
				fields := fmt.Appendf(nil, `{"f:common":{},"f:%0*d":{}}`, 1+j%3*10000, j%7*i)
				set, err := c.parse(fields)
				if err != nil || set.Size() != 2 {
					t.Errorf("%v, %v", set, err)
				}
			}
		})
	}
	all.Wait()
}
