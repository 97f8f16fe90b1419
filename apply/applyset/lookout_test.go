package applyset_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// forgery is an API server with a set of which a is emitted, and with an object whose
// label somebody forged. It counts the lists.
type forgery struct {
	lists  int
	forged []metav1.PartialObjectMetadata
}

func (f *forgery) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.URL.Path[len("/api/v1/namespaces/shop/configmaps"):] {
	case "":
		f.lists++
		return page("", append([]metav1.PartialObjectMetadata{member("a")}, f.forged...)...)(request)
	case "/web":
		return ok(setParent("ConfigMap"))(request)
	}
	return ok(named("ConfigMap", "a"))(request)
}

// A forged label costs a list now and then, whatever the number of rounds, and is told
// once. Another one is found.
func TestForgedLabelsAreLookedAtNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byOthers := func(o *metav1.PartialObjectMetadata) {
			o.ManagedFields = []metav1.ManagedFieldsEntry{labelEntry("forger")}
		}
		server := &forgery{forged: []metav1.PartialObjectMetadata{member("b", byOthers)}}
		c := newSetScript(t).client(server)
		applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
		if err != nil {
			t.Fatal(err)
		}
		sets, err := applyset.New(applier)
		if err != nil {
			t.Fatal(err)
		}
		// An hour of rounds: how many lists they cost, and how often each is told.
		hour := func() (lists int, told []string) {
			server.lists = 0
			for range 3600 {
				pruned, err := sets.Apply(t.Context(), setParent("ConfigMap"), emitsConfigMap("a")).Prune(t.Context())
				if err != nil || len(pruned.Deleted) > 0 || len(pruned.Kept) == 0 {
					t.Fatalf("%+v, %v; want what is forged to be kept in each round", pruned, err)
				}
				for _, k := range pruned.Kept {
					if !k.Remembered {
						told = append(told, k.Object.Name)
					}
				}
				time.Sleep(time.Second)
			}
			return server.lists, told
		}
		for _, step := range []struct {
			most int
			told string
		}{{13, "b"}, {7, ""}, {19, "c"}} {
			if step.told == "c" {
				server.forged = append(server.forged, member("c", byOthers))
			}
			lists, told := hour()
			if lists < 4 || lists > step.most || len(told) > 1 || len(told) == 1 != (step.told != "") || len(told) == 1 && told[0] != step.told {
				t.Errorf("%d lists in 3600 rounds, told %v; want at most %d lists, and %q told once", lists, told, step.most, step.told)
			}
		}
	})
}
