package steady

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

var bundleTime = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// bundleStage has one Bundle, and an Applier that reads it as its Go type.
type bundleStage struct {
	*testing.T

	client  client.Client
	raw     client.Client
	name    client.ObjectKey
	applier *apply.Applier
}

func newBundleStage(t *testing.T) *bundleStage {
	t.Helper()
	config := steadyConfig(t)
	s := &bundleStage{T: t, client: newBundleClient(t, config), raw: kit.NewClient(t, config)}
	s.name = client.ObjectKey{Namespace: kit.NewNamespace(t, s.raw), Name: "bundle"}
	applier, err := apply.New(s.client, apply.Config{FieldManager: kit.OurManager, LiveReader: s.client, Steady: kit.NewSteadyState(t, config, s.client, bundleKind.GroupVersion())})
	if err != nil {
		t.Fatal(err)
	}
	s.applier = applier
	s.write("creator", "", "spec: {title: first}")
	return s
}

// write has a field manager apply by force what is written as YAML.
func (s *bundleStage) write(manager, subresource, fields string) {
	s.Helper()
	object := fromYAML(s.T, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s}\n%s\n",
		bundleKind.GroupVersion(), bundleKind.Kind, s.name.Name, s.name.Namespace, fields))
	if err := kit.ApplyTo(s.Context(), s.raw, object, subresource, client.ApplyOptions{FieldManager: manager, Force: new(true)}); err != nil {
		s.Fatal(err)
	}
}

// costs applies an intent to the Bundle as it is read, and holds how many requests are sent.
func (s *bundleStage) costs(when string, want int, intent apply.Intent) {
	s.Helper()
	read := &bundle{}
	if err := s.client.Get(s.Context(), s.name, read); err != nil {
		s.Fatal(err)
	}
	intent.Read = read
	outcome, err := s.applier.Apply(s.Context(), intent)
	if err != nil || outcome.Requests != want {
		s.Errorf("%s: %+v, %v; want %d requests", when, outcome, err, want)
	}
}

func (s *bundleStage) ready() apply.Intent {
	config := newBundleConfig(s.name)
	config.Status = &bundleStatusConfig{Synced: &bundleTime, Conditions: []metav1ac.ConditionApplyConfiguration{*metav1ac.Condition().
		WithType("Ready").WithStatus("True").WithReason("Synced").WithMessage("all targets are in sync").WithLastTransitionTime(bundleTime)}}
	return apply.Intent{Config: config, Subresource: "status"}
}

// TestSteadyConditions: a status with times is sent once. After a write by any other writer, the status is sent once
// more, because the Go type may not show what was written to a time.
func TestSteadyConditions(t *testing.T) {
	t.Parallel()
	s := newBundleStage(t)
	s.costs("first", 1, s.ready())
	s.costs("second", 0, s.ready())
	s.costs("third", 0, s.ready())
	s.write("creator", "", "spec: {title: second}")
	s.costs("after another writer", 1, s.ready())
	s.costs("after the no-op", 0, s.ready())
}

// TestSteadyConditionsOfOthers: an intent for the spec sends nothing, whoever writes conditions and in whatever form.
func TestSteadyConditionsOfOthers(t *testing.T) {
	t.Parallel()
	s := newBundleStage(t)
	config := newBundleConfig(s.name)
	config.Spec = &bundleSpec{Title: "first"}
	intent := apply.Intent{Config: config}
	s.costs("first", 1, intent)
	for _, at := range []string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678Z", "2026-01-02T05:04:05+02:00"} {
		s.write("other", "status", `status: {conditions: [{type: Ready, status: "True", reason: Synced, message: "", lastTransitionTime: "`+at+`"}]}`)
		s.costs("conditions at "+at, 0, intent)
		s.costs("again", 0, intent)
	}
}

// TestSteadyHiddenForms: stored times may differ although the Go type shows them as equal. Another process of the
// same field manager stores several texts of the same second, and an apply replaces each of them.
func TestSteadyHiddenForms(t *testing.T) {
	t.Parallel()
	s := newBundleStage(t)
	s.costs("first", 1, s.ready())
	s.costs("second", 0, s.ready())
	for _, at := range []string{"2026-01-02T03:04:05.678Z", "2026-01-02T05:04:05+02:00"} {
		s.write(kit.OurManager, "status", `status: {synced: "2026-01-02T03:04:05Z", conditions: [
  {type: Ready, status: "True", reason: Synced, message: all targets are in sync, lastTransitionTime: "`+at+`"}]}`)
		s.costs("stored as "+at, 1, s.ready())
		live := kit.NewUnstructured(bundleKind.GroupVersion().String(), bundleKind.Kind, s.name)
		if err := s.raw.Get(t.Context(), s.name, live); err != nil {
			t.Fatal(err)
		}
		if stored := fmt.Sprint(live.Object["status"]); !strings.Contains(stored, "03:04:05Z") || strings.Contains(stored, at) {
			t.Errorf("the server has %s", stored)
		}
		s.costs("replaced", 0, s.ready())
	}
}

// TestSteadyHiddenQuantity: the same holds for other values whose form a Go type hides.
func TestSteadyHiddenQuantity(t *testing.T) {
	t.Parallel()
	s := newBundleStage(t)
	config := newBundleConfig(s.name)
	config.Spec = &bundleSpec{Title: "first", Size: new(resource.MustParse("1"))}
	intent := apply.Intent{Config: config}
	s.costs("first", 1, intent)
	s.costs("second", 0, intent)
	s.write(kit.OurManager, "", `spec: {title: first, size: 1000m}`)
	s.costs("stored as 1000m", 1, intent)
	s.costs("replaced", 0, intent)
}
