package fieldowners_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func ownership(t testing.TB, entries ...metav1.ManagedFieldsEntry) fieldowners.Ownership {
	t.Helper()
	o, err := fieldowners.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDiff(t *testing.T) {
	type entries = []metav1.ManagedFieldsEntry
	const (
		replicas = `{"f:spec":{"f:replicas":{}}}`
		image    = `{"f:spec":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}`
		itself   = `{"f:spec":{"k:{\"name\":\"web\"}":{".":{}}}}`
	)
	older := entry("a", "Apply", replicas)
	older.APIVersion, older.Time = "apps/v1beta1", &metav1.Time{Time: time.Unix(1, 0)}
	for _, test := range []struct {
		reason        string
		before, after entries
		want          string
	}{
		{"nobody", nil, nil, ""},
		{"the same", entries{entry("a", "Apply", replicas)}, entries{entry("a", "Apply", replicas)}, ""},
		{"only apiVersion and time", entries{older}, entries{entry("a", "Apply", replicas)}, ""},
		{"a new owner of a field without one", nil, entries{entry("a", "Apply", replicas)}, ".spec.replicas: gained by a/Apply"},
		{"nobody's any more", entries{entry("a", "Apply", replicas)}, nil, ".spec.replicas: lost by a/Apply"},
		{"taken", entries{entry("a", "Apply", replicas)}, entries{entry("b", "Apply", replicas)}, ".spec.replicas: a/Apply -> b/Apply"},
		{"one name, another operation", entries{entry("a", "Update", replicas)}, entries{entry("a", "Apply", replicas)},
			".spec.replicas: a/Update -> a/Apply"},
		{"taken from two", entries{entry("a", "Apply", replicas), entry("b", "Update", replicas)}, entries{entry("c", "Apply", replicas)},
			".spec.replicas: a/Apply -> c/Apply\n.spec.replicas: b/Update -> c/Apply"},
		{"shared is no move", entries{entry("a", "Apply", replicas)}, entries{entry("a", "Apply", replicas), entry("b", "Apply", replicas)},
			".spec.replicas: gained by b/Apply"},
		{"an item's field, not the item", entries{entry("a", "Apply", image)}, entries{entry("a", "Apply", itself)},
			`.spec[name="web"].image: lost by a/Apply`},
		{"the item was there before", entries{entry("a", "Apply", itself)}, entries{entry("a", "Apply", image)},
			`.spec[name="web"].image: gained by a/Apply`},
		{"the item goes with its field", entries{entry("a", "Apply", image)}, entries{entry("b", "Apply", image)},
			`.spec[name="web"].image: a/Apply -> b/Apply`},
		{"in the order of paths", entries{entry("z", "Apply", replicas)}, entries{entry("z", "Apply", `{"f:spec":{"f:paused":{}}}`)},
			".spec.paused: gained by z/Apply\n.spec.replicas: lost by z/Apply"},
	} {
		d := fieldowners.Diff(ownership(t, test.before...), ownership(t, test.after...))
		if diff := cmp.Diff(test.want, d.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if d.IsEmpty() != (test.want == "") {
			t.Errorf("%s: IsEmpty is %v", test.reason, d.IsEmpty())
		}
	}
}

// TestDiffLaws holds on random ownerships of four fields by three managers: what
// is told turns one into the other, and back is the reverse.
func TestDiffLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		x, y := randomOwnership(t, random), randomOwnership(t, random)
		there, back := fieldowners.Diff(x, y), fieldowners.Diff(y, x)
		held := fieldsByManager(x)
		for _, m := range there.Moved {
			delete(held, m.From.String()+m.Path.String())
		}
		for _, o := range there.Lost {
			delete(held, o.Manager.String()+o.Path.String())
		}
		for _, m := range there.Moved {
			held[m.To.String()+m.Path.String()] = true
		}
		for _, o := range there.Gained {
			held[o.Manager.String()+o.Path.String()] = true
		}
		if diff := cmp.Diff(fieldsByManager(y), held); diff != "" {
			t.Fatalf("%v\ndoes not lead from one to the other (-want +got):\n%s", there, diff)
		}
		if len(there.Moved) != len(back.Moved) || !cmp.Equal(texts(there.Gained), texts(back.Lost)) || !cmp.Equal(texts(there.Lost), texts(back.Gained)) {
			t.Fatalf("there:\n%v\nback:\n%v", there, back)
		}
	}
}

func texts(owned []fieldowners.Owned) (all []string) {
	for _, o := range owned {
		all = append(all, o.String())
	}
	return all
}

func fieldsByManager(o fieldowners.Ownership) map[string]bool {
	held := map[string]bool{}
	for _, entry := range o.Entries() {
		for _, path := range entry.Leaves() {
			held[entry.Manager.String()+path.String()] = true
		}
	}
	return held
}

func randomOwnership(t *testing.T, random *rand.Rand) fieldowners.Ownership {
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range []string{"a", "b", "c"} {
		fields := ""
		for _, field := range []string{"w", "x", "y", "z"} {
			if random.IntN(2) == 0 {
				fields += `,"f:` + field + `":{}`
			}
		}
		if fields != "" {
			entries = append(entries, entry(manager, "Apply", "{"+fields[1:]+"}"))
		}
	}
	return ownership(t, entries...)
}
