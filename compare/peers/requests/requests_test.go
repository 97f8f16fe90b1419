package requests_test

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"coapply.dev/compare/peers/peer"
	"coapply.dev/compare/peers/requests"
	"coapply.dev/compare/peers/world"
	"coapply.dev/compare/target"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestRequests counts what each peer sends in reconciles that have nothing to change, each after a write of another
// manager.
func TestRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane of its own: make soak runs it, and so does go test without -short")
	}
	local, err := target.Local(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := local.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	w, err := world.Open(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	const number = 12
	for _, p := range peer.All() {
		least, most := number, number // one request each
		switch p.Name {
		case peer.Ours, "Extract + DeepEqual", "CreateOrUpdate":
			least, most = 0, 0
		case "fluxcd/pkg/ssa": // a GET and a dry run, and an apply where others wrote in between
			least, most = 2*number, 3*number
		case "resourceVersion cache": // what changed may be its own apply
			least = number / 3
		}
		t.Run(p.Name, func(t *testing.T) {
			counted, err := requests.Count(t.Context(), w, p, number)
			if err != nil {
				t.Fatal(err)
			}
			if n := counted.Requests(); n < least || n > most || counted.Foreign == 0 {
				t.Errorf("%s: want %d to %d requests, and writes of others", counted, least, most)
			}
		})
	}
}
