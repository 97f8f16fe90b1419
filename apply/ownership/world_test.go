package ownership_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit/memory"
)

const manager = memory.Manager

var entry = memory.Entry

// world is an API server with the Deployment web, and an applier whose requests are recorded.
type world struct {
	*memory.World

	applier *apply.Applier
}

// newWorld has the Deployment web with these owners.
func newWorld(t *testing.T, owners ...metav1.ManagedFieldsEntry) *world {
	t.Helper()
	w := &world{World: memory.New(t)}
	w.Web(owners...)
	w.applier = w.applierOf(apply.Policy{})
	return w
}

func (w *world) applierOf(policy apply.Policy) *apply.Applier {
	w.Helper()
	c := w.Client(w.Config(), nil)
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Policy: policy})
	w.Must(err)
	return applier
}

// migrate plans to move what old wrote by Update.
func (w *world) migrate() *ownership.Transfer {
	w.Helper()
	transfer, err := ownership.Migrate(w.Context(), w.applier, theWeb(""), ownership.From{Manager: "old"})
	w.Must(err)
	return transfer
}

func theWeb(uid types.UID) apply.ObjectRef {
	return apply.ObjectRef{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"),
		NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"}, UID: uid,
	}
}

const replicasField, pausedField = `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`

var (
	oldReplicas = entry("old", "Update", "", replicasField)
	oldPause    = entry("old", "Update", "", pausedField)
	newReplicas = entry(manager, "Apply", "", replicasField)
	pause       = entry("other", "Apply", "", pausedField)
)

// A read and a write of a transfer.
const read, write = "GET", "PATCH uid resourceVersion"
