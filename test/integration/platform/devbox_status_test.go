package platform

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/test/kit"
)

// TestStatusWritersAtOnce: 50 changes of the spec and of contentID keep all of
// them busy with one status.
func TestStatusWritersAtOnce(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	p.Quiet(t, time.Second)
	p.Applies.TakeUpdates()
	ofImage := strings.TrimSuffix(pod.Annotations[devbox.ContentAnnotation], "00000000")
	content := func(i int) string { return fmt.Sprintf("%s%08x", ofImage, i+1) }
	for i := range 50 {
		kind := []v1alpha1.NetworkType{v1alpha1.NetworkClusterIP, v1alpha1.NetworkNodePort}[i%2]
		p.Patch(t, &v1alpha1.Devbox{}, "box", fmt.Sprintf(`{"spec":{"network":{"type":%q}}}`, kind))
		if i%10 == 0 {
			patchStatus(t, p, &v1alpha1.Devbox{}, "box", fmt.Sprintf(`{"status":{"contentID":%q}}`, content(i)))
		}
		box := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
		if want := content(i / 10 * 10); box.Status.ContentID != want {
			t.Fatalf("change %d: contentID is %q, want %q", i, box.Status.ContentID, want)
		}
		if s := box.Status; s.Network == nil || s.Phase == "" || len(s.Conditions) != 4 {
			t.Fatalf("change %d: status is %+v", i, s)
		}
	}
	sent := p.Quiet(t, time.Second)
	wantMeasured(t, p.Applies.TakeUpdates(), sent)
	var box *v1alpha1.Devbox
	kit.WaitFor(t, "the status is of the last change", func() string {
		box = p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
		for _, condition := range box.Status.Conditions {
			if condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != box.Generation {
				return fmt.Sprintf("generation is %d: %v", box.Generation, condition)
			}
		}
		return ""
	})
	if n := box.Status.Network; n.Type != v1alpha1.NetworkNodePort || n.NodePort == 0 {
		t.Errorf("network is %v", n)
	}
}

// wantMeasured holds the measurements of status writes against the requests that
// went out: each attempt that wrote is counted, with how long it took and how it
// ended.
func wantMeasured(t *testing.T, updates []apply.UpdateObservation, sent []string) {
	t.Helper()
	var written, attempts, stale int
	for _, request := range sent {
		if strings.HasPrefix(request, http.MethodPut+" ") && strings.HasSuffix(request, "/devboxes/box/status") {
			written++
		}
	}
	managers := map[string]bool{}
	for _, u := range updates {
		if u.Verb != "Status" {
			continue
		}
		managers[u.FieldManager] = true
		attempts += u.Attempts
		stale += u.StaleWrites
		exhausted := u.Result == "Exhausted" && u.StaleWrites >= u.Attempts
		toldWrong := u.Result != "Success" || u.StaleWrites > 0 && u.StaleWrites >= 2*u.Attempts // an attempt may write upon what was handed on, and again
		if u.Duration <= 0 || !exhausted && toldWrong {
			t.Errorf("measured %+v", u)
		}
	}
	if len(managers) != 4 || written == 0 || written > attempts+stale || stale >= written {
		t.Errorf("%d status writes were sent; measured are %d attempts and %d stale writes of %v", written, attempts, stale, managers)
	}
	t.Logf("%d status writes, %d attempts, %d stale", written, attempts, stale)
}
