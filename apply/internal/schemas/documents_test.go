package schemas

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/openapi"
)

// TestDocumentAtAnotherURL: a document that cannot be had may have another URL by now, which
// the index says. One that nobody has asked for yet is no reason to ask for the index.
func TestDocumentAtAnotherURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.server.answer = func(d served) ([]byte, error) {
			if d.hash != d.server.hash {
				return nil, errors.New("there is no such hash")
			}
			return d.Schema("application/json")
		}
		a.want("the first", appsv1.SchemeGroupVersion, true, 0, 1, 1)
		time.Sleep(schemasRetry + time.Second)
		a.want("another one, by the index as it is", corev1.SchemeGroupVersion, true, 0, 1, 2)
		a.server.hash = "?hash=2"
		a.want("it has moved", batchv1, false, 0, 1, 3)
		time.Sleep(2 * time.Second)
		a.want("the index is asked", batchv1, false, 0, 2, 4)
		time.Sleep(4 * time.Second)
		a.want("nobody waits for it", batchv1, false, 0, 2, 5)
		a.want("found", batchv1, true, 0, 2, 5)
	})
}

// TestDocumentOvertaken: a document that was asked for before the index changed is not kept.
func TestDocumentOvertaken(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*apiServer)
		ok        bool
		documents int // asked for afterwards
	}{
		"it has another version": {func(s *apiServer) { s.hash = "?hash=2" }, true, 1},
		"it is gone":             {func(s *apiServer) { s.gone = "apis/batch/v1" }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAsking(t)
				a.want("another group", appsv1.SchemeGroupVersion, true, 0, 1, 1)
				time.Sleep(2 * schemasKept)
				a.server.slow = 5 * time.Second
				c.change(a.server)
				a.want("under way", batchv1, false, inquiryPatience, 2, 2)
				time.Sleep(a.server.slow)
				a.server.slow = 0
				a.want("not what came then", batchv1, c.ok, 0, 2, 2+c.documents)
			})
		})
	}
}

// TestGroupIsGone: nothing is proven any more by the schema of a group that the server no
// longer has.
func TestGroupIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.want("known", batchv1, true, 0, 1, 1)
		known, err := a.Of(t.Context(), batchv1)
		if err != nil {
			t.Fatal(err)
		}
		a.server.gone = "apis/batch/v1"
		time.Sleep(2 * schemasKept)
		a.want("another group", appsv1.SchemeGroupVersion, true, 0, 2, 2)
		if a.Good(t.Context(), known, time.Now()) {
			t.Error("its proofs are trusted")
		}
		a.want("gone", batchv1, false, 0, 2, 2)
	})
}

// TestSchemasErrors: an error says what is missing, and why.
func TestSchemasErrors(t *testing.T) {
	const batch = "getting the API server's schemas of batch/v1"
	says := func(text string, err error) func(*apiServer) {
		return func(s *apiServer) { s.answer = func(served) ([]byte, error) { return []byte(text), err } }
	}
	for want, change := range map[string]func(*apiServer){
		"getting the list of the API server's schemas: down":                                     func(s *apiServer) { s.down = errors.New("down") },
		"getting the list of the API server's schemas: reading the response panicked: a mistake": func(s *apiServer) { s.Client = panics{s.Client} },
		batch + ": no leader":                    says("", errors.New("no leader")),
		batch + ": unexpected end of JSON input": says("{", nil),
		batch + ": the API server's response at apis__batch__v1_openapi.json has no schemas": says("{}", nil),
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t)
			change(a.server)
			if _, err := a.Of(t.Context(), batchv1); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.server.hangs[""] = true
		if _, err := a.Of(t.Context(), batchv1); err == nil || err.Error() != "getting the list of the API server's schemas: "+errNotYet.Error() {
			t.Error(err)
		}
		time.Sleep(inquiryTimeout)
	})
}

// panics is a client that does, as one that reads somebody else's schema may.
type panics struct{ openapi.Client }

func (panics) Paths() (map[string]openapi.GroupVersion, error) { panic("a mistake") }
