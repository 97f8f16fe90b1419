package platform

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

func network(t *testing.T, p *kit.Platform, kind v1alpha1.NetworkType) {
	t.Helper()
	p.Patch(t, &v1alpha1.Devbox{}, "box", fmt.Sprintf(`{"spec":{"network":{"type":%q}}}`, kind))
}

// waitForNetwork waits until the status and the Service are as the type says.
func waitForNetwork(t *testing.T, p *kit.Platform, kind v1alpha1.NetworkType) corev1.Service {
	t.Helper()
	var service corev1.Service
	kit.WaitFor(t, "the network is "+string(kind), func() string {
		var box v1alpha1.Devbox
		p.Get(t, "box", &box)
		condition := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionNetworkApplied)
		n := box.Status.Network
		if n == nil || n.Type != kind || (n.NodePort != 0) != (kind == v1alpha1.NetworkNodePort) ||
			condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != box.Generation {
			return fmt.Sprint(n, condition)
		}
		service = corev1.Service{}
		err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(&box), &service)
		if apierrors.IsNotFound(err) != (kind == v1alpha1.NetworkNone) {
			return fmt.Sprint("the Service: ", err)
		}
		for _, port := range service.Spec.Ports {
			if port.NodePort != n.NodePort {
				return fmt.Sprintf("node port %d, and %d in the status", port.NodePort, n.NodePort)
			}
		}
		return ""
	})
	return service
}

func TestDevboxNetwork(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	p.Create(t, "box", func(b *v1alpha1.Devbox) {
		b.Spec.State = v1alpha1.DevboxStopped
		b.Spec.Network = v1alpha1.DevboxNetwork{Type: v1alpha1.NetworkNodePort, Port: 8080}
	})
	waitForNetwork(t, p, v1alpha1.NetworkNodePort)
	network(t, p, v1alpha1.NetworkClusterIP)
	waitForNetwork(t, p, v1alpha1.NetworkClusterIP)
	network(t, p, v1alpha1.NetworkNone)
	waitForNetwork(t, p, v1alpha1.NetworkNone)
	waitForPhase(t, p, "box", v1alpha1.PhaseStopped)
	var deletions int
	for _, request := range p.Quiet(t, time.Second) {
		if strings.HasPrefix(request, http.MethodDelete) {
			deletions++
		}
	}
	if deletions != 1 {
		t.Errorf("%d deletions, want that of the Service", deletions)
	}
	network(t, p, v1alpha1.NetworkNodePort)
	waitForNetwork(t, p, v1alpha1.NetworkNodePort)
	network(t, p, v1alpha1.NetworkNone)
	waitForNetwork(t, p, v1alpha1.NetworkNone)
}

// TestNetworkNoneLeavesOthers: neither somebody's Service of the name nor one that
// somebody has taken from the Devbox is deleted.
func TestNetworkNoneLeavesOthers(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "box"},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
	}
	if err := p.Client.Create(t.Context(), theirs, client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	p.Create(t, "box", func(b *v1alpha1.Devbox) {
		b.Spec.State = v1alpha1.DevboxStopped
		b.Spec.Network.Type = v1alpha1.NetworkNone
	})
	kit.WaitFor(t, "None", func() string {
		if n := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status.Network; n == nil || n.Type != v1alpha1.NetworkNone {
			return fmt.Sprint(n)
		}
		return ""
	})
	p.Quiet(t, time.Second)
	if now := p.Get(t, "box", &corev1.Service{}); now.GetUID() != theirs.UID || now.GetDeletionTimestamp() != nil {
		t.Errorf("the other's Service was deleted: %v", now)
	}
}

// TestServiceTakenBeforeItsDeletion: between the decision and the request somebody
// takes the Service from the Devbox. It stays.
func TestServiceTakenBeforeItsDeletion(t *testing.T) {
	t.Parallel()
	config := kit.Cluster(t).Config()
	p := kit.NewPlatform(t)
	var taken atomic.Bool
	take := func(ctx context.Context) error {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "box"}}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"ownerReferences":null,"labels":null}}`))
		return p.Client.Patch(ctx, service, patch, client.FieldOwner("other"))
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodDelete && strings.Contains(request.URL.Path, "/services/") && taken.CompareAndSwap(false, true) {
				if err := take(request.Context()); err != nil {
					t.Error(err)
				}
			}
			return next.RoundTrip(request)
		})
	})
	p.Run(t, config, apply.Force)
	p.Create(t, "box", func(b *v1alpha1.Devbox) { b.Spec.State = v1alpha1.DevboxStopped })
	service := waitForNetwork(t, p, v1alpha1.NetworkClusterIP)
	network(t, p, v1alpha1.NetworkNone)
	kit.WaitFor(t, "None", func() string {
		if n := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status.Network; !taken.Load() || n.Type != v1alpha1.NetworkNone {
			return fmt.Sprint(n)
		}
		return ""
	})
	p.Quiet(t, time.Second)
	if now := p.Get(t, "box", &corev1.Service{}); now.GetUID() != service.UID || now.GetDeletionTimestamp() != nil {
		t.Errorf("the Service was deleted: %v", now)
	}
}
