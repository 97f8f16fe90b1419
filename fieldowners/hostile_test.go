package fieldowners_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// tooDeep is deeper than Join and Changes go.
const tooDeep = 1500

func deepMap(value any) map[string]any {
	at := map[string]any{"a": value}
	for range tooDeep {
		at = map[string]any{"a": at}
	}
	return at
}

func TestDepth(t *testing.T) {
	last := fieldowners.Field{}
	for field := range (fieldowners.Ownership{}).Join(deepMap("x")).All() {
		last = field
	}
	if last.Path.Len() != 1000 || !last.IsLeaf() || last.Value == nil {
		t.Errorf("Join ends %d levels down, with %T", last.Path.Len(), last.Value)
	}
	for levels, want := range map[int]int{fieldowners.MaxDepth: 0, fieldowners.MaxDepth + 1: 1} {
		deep := entry("deep", "Apply", strings.Repeat(`{"f:a":`, levels)+"{}"+strings.Repeat("}", levels))
		readable, unread := fieldowners.ParseReadable([]metav1.ManagedFieldsEntry{deep, entry("m", "Apply", `{"f:a":{}}`)})
		if len(unread) != want || len(readable.Entries()) != 2-want {
			t.Errorf("%d levels: %d entries are read, %d are not", levels, len(readable.Entries()), len(unread))
		}
	}
	changes := fieldowners.Changes(deepMap("x"), deepMap("y"))
	if len(changes) != 1 || changes[0].Path.Len() != 1000 || changes[0].Before == nil || changes[0].After == nil {
		t.Errorf("%d changes, the first %d levels down", len(changes), changes[0].Path.Len())
	}
}

// TestWorkIsLinear: twice as much to do is no more than some twice the work, counted in
// what is allocated: also where one item has no name.
func TestWorkIsLinear(t *testing.T) {
	run := func(n int) func() {
		ownership, object := keyedList(n)
		return func() { ownership.Join(object) }
	}
	once, twice := testing.AllocsPerRun(1, run(200)), testing.AllocsPerRun(1, run(400))
	if twice > 3*once {
		t.Errorf("%.0f allocations, and %.0f for twice as many", once, twice)
	}
}

// keyedList returns a list with an item that has no name, and owners of many others.
func keyedList(n int) (fieldowners.Ownership, map[string]any) {
	items, fields := []any{map[string]any{"odd": true}}, []string{}
	for i := range n {
		items = append(items, map[string]any{"name": fmt.Sprint("n", i)})
		fields = append(fields, fmt.Sprintf(`"k:{\"name\":\"n%d\"}":{"f:name":{}}`, i))
	}
	ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry("a", "Apply", `{"f:list":{`+strings.Join(fields, ",")+`}}`)})
	if err != nil {
		panic(err)
	}
	return ownership, map[string]any{"list": items}
}

func TestZeroValues(t *testing.T) {
	var e fieldowners.Entry
	if e.Owns(fieldowners.MustParsePath(".a")) || len(e.Fields())+len(e.Leaves()) > 0 {
		t.Error("an entry of nobody owns something")
	}
	if d := fieldowners.Diff(fieldowners.OwnershipOf(e), fieldowners.Ownership{}); !d.IsEmpty() {
		t.Errorf("nobody lost %v", d)
	}
	if (fieldowners.Field{}).IsUnowned() {
		t.Error("a field that no object has is one that nobody owns")
	}
}

// TestPathSteersNoTerminal: what is not to be seen is escaped, and read back.
func TestPathSteersNoTerminal(t *testing.T) {
	ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{
		entry("a", "Apply", `{"f:a\u009b31m\u007f\u202e\u00a0é\ue000\udbff\udffd":{"k:{\"b\u202e\":\"\u009b\"}":{"v:\"\u202e\"":{}}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	path := ownership.Entries()[0].Fields()[0]
	const want = `["a\u009b31m\u007f\u202e\u00a0é\ue000\udbff\udffd"]["b\u202e"="\u009b"][="\u202e"]`
	if again, err := fieldowners.ParsePath(want); path.String() != want || err != nil || !again.Equal(path) {
		t.Errorf("%+q, read back as %+q (%v)", path, again, err)
	}
	change := fieldowners.Changes(map[string]any{"a": "\u009b"}, map[string]any{"a": "\u202e"})[0]
	if got := change.String(); got != `.a: "\u009b" -> "\u202e"` {
		t.Errorf("%+q", got)
	}
}

// TestJoinKeepsKeyLikeManagedFields: it is left out of metadata, and nowhere else.
func TestJoinKeepsKeyLikeManagedFields(t *testing.T) {
	var paths []string
	for field := range (fieldowners.Ownership{}).Join(map[string]any{
		"metadata.managedFields": "x", "metadata": map[string]any{"managedFields": []any{}},
		"spec": map[string]any{"metadata": map[string]any{"managedFields": "x"}},
	}).All() {
		if field.IsLeaf() {
			paths = append(paths, field.Path.String())
		}
	}
	if want := []string{".metadata", `["metadata.managedFields"]`, ".spec.metadata.managedFields"}; !slices.Equal(paths, want) {
		t.Errorf("%q", paths)
	}
}
