package apply

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/ledger"
)

// TestSteadyGaveWay: for an intent that gave way nothing is sent either while the owners
// stay, and each of them is told of once.
func TestSteadyGaveWay(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	intent := fiveReplicas()
	wantSteady(t, a, intent, false)
	giveWay(a)

	want := func(what string, remembered ...bool) {
		t.Helper()
		outcome, err := a.Apply(t.Context(), intent)
		if err != nil || outcome.Attempts > 0 || len(outcome.Conflicts) != len(remembered) {
			t.Fatalf("%s: %+v, %v", what, outcome, err)
		}
		for i, conflict := range outcome.Conflicts {
			if conflict.Remembered != remembered[i] {
				t.Errorf("%s: %v remembered: %v", what, conflict, conflict.Remembered)
			}
		}
	}
	want("the first time", false)
	want("the owner stays", true)
	joined := cache.deployment.DeepCopy()
	joined.ResourceVersion = "1001"
	joined.ManagedFields[1].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`) // the auditor's
	cache.deployment = joined
	want("another joins", false, true)
	want("nothing new", true, true)
	busy := joined.DeepCopy()
	busy.ResourceVersion, busy.Status.Replicas, busy.Spec.Replicas = "1002", 7, new(int32(4))
	cache.deployment = busy
	want("another value of theirs", true, true)
	if outcome, err := a.Apply(t.Context(), intent); err != nil || outcome.Conflicts[0].Theirs != int64(4) || outcome.Conflicts[0].Object.ResourceVersion != "1002" {
		t.Errorf("%+v, %v", outcome, err)
	}
	strict, err := New(a.client, Config{FieldManager: "shop", LiveReader: a.client, Steady: a.config.Steady})
	if err != nil {
		t.Fatal(err)
	}
	wantSteady(t, strict, intent, false) // its policy is another one
	same := busy.DeepCopy()
	same.ResourceVersion, same.Spec.Replicas = "1003", new(int32(5))
	cache.deployment = same
	wantSteady(t, a, intent, false)
	a.ledger = ledger.New(1)
	gone := joined.DeepCopy()
	gone.ResourceVersion, gone.ManagedFields = "1004", gone.ManagedFields[2:]
	cache.deployment = gone
	wantSteady(t, a, intent, false)
}

// fiveReplicas is an intent whose replicas are the autoscaler's.
func fiveReplicas() Intent {
	wanted := shop()
	wanted.Spec.WithReplicas(5)
	return Intent{Config: wanted}
}

// giveWay makes the applier give way, and forget that the test's server never answers.
func giveWay(a *Applier) {
	a.config.Policy = OnConflict(Relinquish)
	a.ledger = ledger.New(1)
}

// TestSteadyGivesWayNoMore: what is left of the intent is sent once something has changed.
func TestSteadyGivesWayNoMore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*appsv1.Deployment)
		says   string // in the log
	}{
		"a value of ours":   {func(d *appsv1.Deployment) { d.Labels["tier"] = "other" }, "the apply would change .metadata.labels.tier"},
		"the owner lets go": {func(d *appsv1.Deployment) { d.ManagedFields = d.ManagedFields[1:] }, "the apply would change .spec.replicas"},
		"no managed fields": {func(d *appsv1.Deployment) { d.ManagedFields = nil }, ""},
		"a later entry of the owner without the field": {func(d *appsv1.Deployment) {
			again := d.ManagedFields[0]
			again.FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{}}}`)
			d.ManagedFields = append(d.ManagedFields, again)
		}, "the apply would change .spec.replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &shopCache{}
			a := newShopApplier(t, cache)
			cache.deployment = applied(t, a)
			giveWay(a)
			wantSteady(t, a, fiveReplicas(), true)
			cache.deployment = cache.deployment.DeepCopy()
			cache.deployment.ResourceVersion = "1001"
			c.change(cache.deployment)
			var log strings.Builder
			ctx := logr.NewContext(t.Context(), funcr.New(func(_, text string) { log.WriteString(text) }, funcr.Options{Verbosity: 1}))
			if outcome, err := a.Apply(ctx, fiveReplicas()); !errors.Is(err, errSent) || !strings.Contains(log.String(), c.says) {
				t.Errorf("%+v, %v; want it sent, and %q in the log: %s", outcome, err, c.says, log.String())
			}
		})
	}
}

// TestSteadyGivesWayEmptyList: an empty list may or may not be part of what is left, so the
// intent is sent.
func TestSteadyGivesWayEmptyList(t *testing.T) {
	a := newShopApplier(t, &shopCache{})
	for field, steady := range map[string]bool{"tolerations": false, "nodeName": true} {
		value := map[string]any{"tolerations": []any{}, "nodeName": "node"}[field]
		wanted := &unstructured.Unstructured{Object: mustUnstructured(fiveReplicas().Config)}
		read := unstructuredOf(t, applied(t, a))
		for _, object := range []*unstructured.Unstructured{wanted, &read} {
			if err := unstructured.SetNestedField(object.Object, value, "spec", "template", "spec", field); err != nil {
				t.Fatal(err)
			}
		}
		entries := read.GetManagedFields()
		disown(&entries[2], `"f:terminationGracePeriodSeconds":{}`, `"f:terminationGracePeriodSeconds":{},"f:`+field+`":{}`)
		read.SetManagedFields(entries)
		intent := Intent{Config: client.ApplyConfigurationFromUnstructured(wanted), Read: &read}
		giveWay(a)
		wantSteady(t, a, intent, steady)
	}
}
