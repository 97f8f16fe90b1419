package apply

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestNothingIsLeftOfTheIntent: all of it gives way, and what is sent is a name.
func TestNothingIsLeftOfTheIntent(t *testing.T) {
	for kind, path := range map[string]string{"Shape": ".spec.title", "ConfigMap": ".data.k"} {
		kit.ShapeClient(t)
		c, watch := watchedClient(t, true)
		s := kit.NewStage(t, c, kit.NewNamespace(t, c), kind, "")
		texts := map[string][2]string{
			"Shape":     {`{spec: {title: theirs}}`, `{spec: {title: ours}}`},
			"ConfigMap": {`{data: {k: theirs}}`, `{data: {k: ours}}`},
		}[kind]
		s.Apply("other", texts[0])
		applier := kit.NewApplier(t, c, "us", apply.OnConflict(apply.Relinquish))
		before := s.Live().GetResourceVersion()
		for _, sends := range []string{sendsThree, sendsTwo, sendsTwo} {
			watch.take()
			_, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(texts[1])})
			if sent := watch.take(); err != nil || sent != sends || s.Live().GetResourceVersion() != before {
				t.Errorf("%s: %v; sent %q, want %q; the object is at %s, was at %s", kind, err, sent, sends, s.Live().GetResourceVersion(), before)
			}
		}
		s.Apply("other", `{}`)
		watch.take()
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(texts[1])})
		if sent := watch.take(); err != nil || sent != sendsTwo || s.Value(path) != "ours" || len(outcome.Conflicts) > 0 {
			t.Errorf("%s, released: %v; sent %q; %v, %v", kind, err, sent, s.Value(path), outcome.Conflicts)
		}
	}
}

// TestDecisionsAcrossVersions: the server names the other owner's field as that one's
// version has it. Where ours has none of the name there is nothing to leave out or to
// share: such a conflict is rejected or forced.
func TestDecisionsAcrossVersions(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	scaler := func(version string, spec map[string]any) *unstructured.Unstructured {
		spec["scaleTargetRef"] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
		spec["maxReplicas"] = int64(3)
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/" + version, "kind": "HorizontalPodAutoscaler",
			"metadata": map[string]any{"namespace": namespace, "name": "x"}, "spec": spec,
		}}
	}
	for _, decision := range kit.AllDecisions {
		t.Run(decision.String(), func(t *testing.T) {
			theirs := scaler("v1", map[string]any{"targetCPUUtilizationPercentage": int64(50)})
			ours := scaler("v2", map[string]any{"metrics": []any{map[string]any{"type": "Resource", "resource": map[string]any{
				"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}, //nolint:misspell // the word of the API
			}}}})
			if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(theirs), client.FieldOwner("other")); err != nil {
				t.Fatal(err)
			}
			outcome, err := kit.NewApplier(t, c, "us", apply.OnConflict(decision)).
				Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(ours)})
			if errors.Is(err, apply.ErrConflict) != (decision != apply.Force) || decision == apply.Force && err != nil {
				t.Fatalf("%v", err)
			}
			t.Log(err)
			want := conflictRow{
				Manager: "other/Apply", APIVersion: "autoscaling/v1", Timed: true,
				Path: ".spec.targetCPUUtilizationPercentage", ServerPath: ".spec.targetCPUUtilizationPercentage",
			}
			if decision == apply.Force {
				want.Decision = apply.Force
			}
			if diff := cmp.Diff([]conflictRow{want}, conflictRows(outcome.Conflicts)); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			if err := c.Delete(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestTwoItemsWithOneKeyInCommon: ports of one number are told apart by protocol, also
// where the intent leaves one of them to its default.
func TestTwoItemsWithOneKeyInCommon(t *testing.T) {
	const (
		theirs = `{spec: {ports: [{name: a, port: 53, protocol: TCP, targetPort: 1}, {name: b, port: 53, protocol: UDP, targetPort: 1}]}}`
		ours   = `{spec: {ports: [{name: a, port: 53, targetPort: 2}, {name: b, port: 53, protocol: UDP, targetPort: 2}]}}`
		tcp    = `.spec.ports[port=53,protocol="TCP"]`
		udp    = `.spec.ports[port=53,protocol="UDP"]`
	)
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for _, test := range []struct {
		reason   string
		policy   apply.Policy
		tcp, udp int64
		leaves   []string
	}{
		{
			"the defaulted one gives way", apply.OnConflict(apply.Force).At(tcp, apply.Relinquish), 1, 2,
			[]string{tcp + ".name", tcp + ".port", udp + ".name", udp + ".port", udp + ".protocol", udp + ".targetPort"},
		},
		{
			"the named one gives way", apply.OnConflict(apply.Force).At(udp, apply.Relinquish), 2, 1,
			[]string{tcp + ".name", tcp + ".port", tcp + ".targetPort", udp + ".name", udp + ".port", udp + ".protocol"},
		},
		{
			"the defaulted one is shared", apply.OnConflict(apply.Force).At(tcp, apply.Share), 1, 2,
			[]string{tcp + ".name", tcp + ".port", tcp + ".targetPort", udp + ".name", udp + ".port", udp + ".protocol", udp + ".targetPort"},
		},
		{
			"the named one is shared", apply.OnConflict(apply.Relinquish).At(udp, apply.Share), 1, 1,
			[]string{tcp + ".name", tcp + ".port", udp + ".name", udp + ".port", udp + ".protocol", udp + ".targetPort"},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			s := kit.NewStage(t, c, namespace, "Service", "")
			s.Update("base", `{spec: {ports: [{name: c, port: 80}]}}`) // several ports need names
			s.Apply("other", theirs)
			applier := kit.NewApplier(t, c, "us", test.policy)
			for range 3 {
				if _, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(ours)}); err != nil {
					t.Fatal(err)
				}
				if gotTCP, gotUDP := s.Value(tcp+".targetPort"), s.Value(udp+".targetPort"); gotTCP != test.tcp || gotUDP != test.udp {
					t.Errorf("TCP to %v, UDP to %v, want %d and %d", gotTCP, gotUDP, test.tcp, test.udp)
				}
				slices.Sort(test.leaves)
				if diff := cmp.Diff(test.leaves, leavesOf(s, "us")); diff != "" {
					t.Errorf("what we own (-want +got):\n%s", diff)
				}
			}
		})
	}
}
