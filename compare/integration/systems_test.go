package compare

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
	recorded "coapply.dev/compare/history"
	"coapply.dev/test/kit"
)

// Of those who find no namespace one creates it; the others are refused, unless they apply.
func TestSystemUserNamespace(t *testing.T) {
	few := func(p *compare.Parameters) { p.Writers, p.Managers, p.Rounds = 4, 4, 2 }
	for arm, landed := range map[string]int{"naive": 2, "gmu-default-retry": 2, "ssa": 8, "apply": 8} {
		got := playSystem(t, kit.Server(t), "user-namespace", arm, few)
		if got.outcomes[recorded.Landed] != landed || got.outcomes[recorded.Failed] != 8-landed {
			t.Errorf("%s: %v, want %d landed and the others failed", arm, got.outcomes, landed)
		}
		if len(got.left) != 2 {
			t.Errorf("%s: %d namespaces, want 2", arm, len(got.left))
		}
		for name, namespace := range got.left {
			if own := len(namespace.GetAnnotations()); own != landed/2 {
				t.Errorf("%s: %s has %d annotations, want one of each who succeeded: %d", arm, name, own, landed/2)
			}
		}
	}
}

func TestSystemNodeSet(t *testing.T) {
	twice := func(p *compare.Parameters) { p.Rounds = 2 }
	for arm, want := range map[string]float64{"naive": 3, "expectations": 0, "ssa": 0, "apply": 0} {
		got := playSystem(t, kit.Server(t), "nodeset-scale", arm, twice)
		if got.extra["duplicates_per_round"] != want || got.extra["missing_per_round"] != 0 {
			t.Errorf("%s: %v, want %v duplicates and none missing", arm, got.extra, want)
		}
		gone, shrinks := got.extra["deleted_too_many_per_round"]
		if counts := arm == "naive" || arm == "expectations"; shrinks != counts {
			t.Errorf("%s: shrinking is counted: %v, want %v", arm, shrinks, counts)
		}
		if arm == "expectations" && gone != 0 {
			t.Errorf("%s deleted %v pods too many", arm, gone)
		}
		if got.outcomes[recorded.Failed] != 0 {
			t.Errorf("%s: %v, want none failed", arm, got.outcomes)
		}
	}
}

// The API server keeps the address of a Service whose spec is replaced; the annotations of others are lost.
func TestSystemSlurmService(t *testing.T) {
	config := kit.Cluster(t).Config()
	few := func(p *compare.Parameters) { p.Writers, p.Managers, p.Objects, p.Rounds = 3, 3, 1, 2 }
	for _, arm := range []string{"gmu-replace", "gmu-default-retry", "ssa", "apply"} {
		got := playSystem(t, config, "slurm-service", arm, few)
		if got.outcomes[recorded.Landed] != 6 && arm != "gmu-default-retry" {
			t.Errorf("%s: %v, want 6 landed", arm, got.outcomes)
		}
		if got.extra["endpoint_slices_per_service"] != 1 {
			t.Errorf("%s: %v, want a slice with an endpoint", arm, got.extra)
		}
		service := got.left["slurm-0-controller"]
		address, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP")
		if address == "" || len(service.GetOwnerReferences()) != 1 {
			t.Errorf("%s left the service without address or owner: %v", arm, service.Object)
		}
		if own := len(service.GetAnnotations()); (own == 3) != (arm != "gmu-replace") {
			t.Errorf("%s left %d annotations of 3 managers", arm, own)
		}
	}
}

func TestSystemCachePollution(t *testing.T) {
	few := func(p *compare.Parameters) { p.Objects, p.Rounds = 2, 4 }
	for arm, want := range map[string]float64{"gmu-requeue": 4, "gmu-default-retry": 0, "ssa": 0, "apply": 0} {
		got := playSystem(t, kit.Server(t), "cache-pollution", arm, few)
		if polluted, looked := got.extra["polluted_reads"]; polluted != want || !looked {
			t.Errorf("%s: %v, want %v polluted reads", arm, got.extra, want)
		}
		if got.outcomes[recorded.Landed] != 4 {
			t.Errorf("%s: %v, want 4 landed", arm, got.outcomes)
		}
	}
}

// Operators of nodes of their own, then three on two nodes: all succeed, and the nodes are uncordoned.
func TestSystemNodeUncordon(t *testing.T) {
	config := kit.Cluster(t).Config()
	for _, test := range []struct {
		arm     string
		objects int
	}{{"gmu-exponential", 3}, {"ssa", 2}, {"apply", 2}} {
		got := playSystem(t, config, "node-uncordon", test.arm, func(p *compare.Parameters) { p.Writers, p.Objects, p.Rounds = 3, test.objects, 3 })
		if got.outcomes[recorded.Landed] != 9 {
			t.Errorf("%s: %v, want 9 landed", test.arm, got.outcomes)
		}
		for name, node := range got.left {
			if cordoned, _, _ := unstructured.NestedBool(node.Object, "spec", "unschedulable"); cordoned {
				t.Errorf("%s left %s cordoned", test.arm, name)
			}
		}
	}
}
