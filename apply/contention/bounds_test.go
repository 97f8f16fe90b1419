package contention

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
)

func TestBounds(t *testing.T) {
	w := newWorld(t, apply.ObjectRef{})
	for i := range maxTroubles + 10 {
		w.object.UID = types.UID(fmt.Sprint("web-", i))
		for range 4 {
			w.take(2, power, "replicas")
			w.take(2, fmt.Sprintf("bot-%d/Update", i), "replicas")
		}
	}
	if len(w.rows) != maxTroubles {
		t.Errorf("%d troubles", len(w.rows))
	}
	for _, r := range slices.Clone(w.rows) {
		w.Take(r.subject)
	}
	if n := testutil.CollectAndCount(w.State, "coapply_fights_total"); n > maxOthers+1 {
		t.Errorf("%d series of names that others chose", n)
	}
}
