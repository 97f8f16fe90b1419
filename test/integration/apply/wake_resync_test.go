package apply

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestResync: each parent is reconciled again and again though nothing changes, and without
// Resync never.
func TestResync(t *testing.T) {
	t.Parallel()
	const parents, often = 5, 3
	for _, test := range []struct {
		reason string
		every  time.Duration
	}{
		{"by time", 2 * time.Second}, {"not", 0},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWakeWorld(t, apply.Policy{}, func(b *coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap] {
				return b.Owns(&appsv1.Deployment{}).Resync(test.every)
			})
			for i := range parents {
				w.parent(fmt.Sprint("web-", i))
			}
			before := make([]int, parents)
			for i := range parents {
				before[i] = w.count(fmt.Sprint("web-", i))
			}
			if test.every == 0 {
				kit.Absence(t, 3*time.Second, "a reconcile")
			}
			for i := range parents {
				name := fmt.Sprint("web-", i)
				if test.every == 0 {
					if n := w.count(name) - before[i]; n != 0 {
						t.Errorf("%s: %d reconciles, want none", name, n)
					}
					continue
				}
				kit.WaitFor(t, name+" is reconciled again and again", func() string {
					if n := w.count(name) - before[i]; n < often {
						return fmt.Sprint(n, " times")
					}
					return ""
				})
			}
		})
	}
}
