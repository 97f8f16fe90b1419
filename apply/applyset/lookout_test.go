package applyset_test

import (
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// A forged label costs a list now and then, whatever the number of rounds, and is told
// once. Another one is found.
func TestForgedLabelsAreLookedAtNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		forge := func(name string) {
			object := named(name)
			object.Labels = map[string]string{applyset.PartOfLabel: setID}
			w.Must(w.Create(t.Context(), object, client.FieldOwner("forger")))
		}
		forge("b")
		sets := w.sets(apply.Policy{})
		parent := w.parent()
		// An hour of rounds: how many lists they cost, and how often each is told.
		hour := func() (lists int, told []string) {
			w.Forget()
			const rounds = 360
			for range rounds {
				pruned, err := sets.Apply(t.Context(), parent, emitsConfigMap("a")).Prune(t.Context())
				if err != nil || len(pruned.Deleted) > 0 || len(pruned.Kept) == 0 {
					t.Fatalf("%+v, %v; want what is forged to be kept in each round", pruned, err)
				}
				for _, k := range pruned.Kept {
					if !k.Remembered {
						told = append(told, k.Object.Name)
					}
				}
				time.Sleep(time.Hour / rounds)
			}
			return w.Sent() - rounds, told
		}
		for _, step := range []struct {
			most int
			told string
		}{{15, "b"}, {7, ""}, {19, "c"}} {
			if step.told == "c" {
				forge("c")
			}
			lists, told := hour()
			if lists < 4 || lists > step.most || len(told) > 1 || len(told) == 1 != (step.told != "") || len(told) == 1 && told[0] != step.told {
				t.Errorf("%d lists in an hour of rounds, told %v; want at most %d lists, and %q told once", lists, told, step.most, step.told)
			}
		}
	})
}
