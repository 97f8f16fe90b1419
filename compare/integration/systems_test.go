package compare

import (
	"fmt"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
	recorded "coapply.dev/compare/history"
	"coapply.dev/test/kit"
)

// TestSystemTenReconcilers: ten writers read one object before any of them writes. The delays of DefaultRetry have jitter, so the number of its
// retries differs from run to run.
func TestSystemTenReconcilers(t *testing.T) {
	const writers = 10
	once := func(p *compare.Parameters) { p.Rounds = 1 }
	naive := playSystem(t, kit.Server(t), "ten-reconcilers", "naive", once)
	if naive.outcomes[recorded.GaveUp] != writers-1 || naive.landed() != 1 || naive.sent("get") != writers || naive.sent("update") != writers {
		t.Errorf("naive: %v by %d GET and %d UPDATE, want 1 landed and 9 given up by 10 of each", naive.outcomes, naive.sent("get"), naive.sent("update"))
	}
	retrying := playSystem(t, kit.Server(t), "ten-reconcilers", "gmu-default-retry", once)
	gets, updates := retrying.sent("get"), retrying.sent("update")
	// Nine of the first writes are stale. Another write has landed before each of the five attempts of a writer that gives up.
	if gets != updates || updates < 2*writers-1 || updates > 5*writers || retrying.landed() < 5 || retrying.landed()+retrying.outcomes[recorded.GaveUp] != writers {
		t.Errorf("gmu-default-retry: %v by %d GET and %d UPDATE, want 5 landed or more, by 19 to 50 of each", retrying.outcomes, gets, updates)
	}
	if applied := playSystem(t, kit.Server(t), "ten-reconcilers", "apply", once); applied.landed() != writers || applied.sent("") != writers {
		t.Errorf("apply: %v by %d requests, want 10 landed by 10", applied.outcomes, applied.sent(""))
	}
	const system = "ten-reconcilers"
	published(t, system, "without retry 1 of 10 succeeds", "90 % give up", naive.giveUps())
	published(t, system, "without retry 10 GET + 10 UPDATE", "20 requests", fmt.Sprintf("%d requests", naive.sent("")))
	published(t, system, "with DefaultRetry all 10 succeed\nbut if one of the rest succeeds at each attempt, 5 attempts are enough for 5", "0 % give up", retrying.giveUps())
	published(t, system, "the same: 10 GET + 15 retry GET + 10 UPDATE\nbut 15 retries imply 25 UPDATE, so 50 requests", "35 requests", fmt.Sprintf("%d requests", gets+updates))
	published(t, system, "retries cost more requests\nbut for each write that lands they are 3.5 against 20", "75 % more", percent(gets+updates-naive.sent(""), naive.sent(""))+" more")
}

// A reconciler that replaces the whole status drops the parts of the others, although its read was fresh.
func TestSystemDevboxStatus(t *testing.T) {
	alone := func(p *compare.Parameters) { p.Writers, p.Rounds = 1, 1 }
	for _, test := range []struct {
		arm, text, figure string
		lost              int
	}{
		{"gmu-replace", "replacing the status loses fields, no 409", "0 × 409", 3},
		{"gmu-default-retry", "setting only its own fields loses none", "0 fields lost", 0},
	} {
		got := playSystem(t, kit.Server(t), "devbox-status", test.arm, alone)
		lost := 0
		for _, part := range []string{"phase", "lastContainerStatus", "contentID", "network"} {
			if _, found, _ := unstructured.NestedFieldNoCopy(got.left["0"].Object, "status", part); !found {
				lost++
			}
		}
		if got.landed() != 1 || got.sent("update") != 1 || lost != test.lost {
			t.Errorf("%s: %v by %d UPDATE, and %d fields lost, want %d", test.arm, got.outcomes, got.sent("update"), lost, test.lost)
		}
		published(t, "devbox-status", test.text, test.figure, fmt.Sprintf("%d × 409, %d fields lost", got.stale(), lost))
	}
}

// A controller that replaces the list of finalizers drops those of the others. One that compares with its cache does not write a finalizer again.
func TestSystemLicenseFinalizer(t *testing.T) {
	got := playSystem(t, kit.Server(t), "license-finalizer", "gmu-replace", func(p *compare.Parameters) { p.Writers, p.Rounds = 1, 1 })
	lost := 8 - len(got.left["0"].GetFinalizers())
	if got.landed() != 1 || got.stale() != 0 || lost != 7 {
		t.Errorf("gmu-replace: %v with %d stale writes, and %d finalizers lost, want 7", got.outcomes, got.stale(), lost)
	}
	published(t, "license-finalizer", "replacing the list loses others, no 409", "0 × 409", fmt.Sprintf("%d × 409, %d others lost", got.stale(), lost))

	const pairs = 2 // of a new finalizer, and the same again
	got = playSystem(t, kit.Server(t), "license-finalizer", "gmu-requeue", func(p *compare.Parameters) { p.Writers, p.Rounds = 1, 2*pairs })
	if got.landed() != 2*pairs || got.sent("update") != pairs {
		t.Errorf("gmu-requeue: %v by %d UPDATE, want %d", got.outcomes, got.sent("update"), pairs)
	}
	published(t, "license-finalizer", "an existing finalizer is not written again", "0 writes", fmt.Sprintf("%d writes", got.sent("update")-pairs))
}

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
		if arm == "apply" {
			published(t, "user-namespace", "create races end in success", "0 % give up", got.giveUps())
		}
	}
}

func TestSystemNodeSet(t *testing.T) {
	twice := func(p *compare.Parameters) { p.Rounds = 2 }
	for _, test := range []struct {
		arm, text, figure string
		want              float64
	}{
		{"naive", "two that see 2 of 5 pods create 6", "3 pods too many", 3},
		{"expectations", "expectations: the second one does nothing", "0 pods too many", 0},
		{"ssa", "", "", 0},
		{"apply", "apply of deterministic names: 3 new pods", "0 pods too many", 0},
	} {
		arm := test.arm
		got := playSystem(t, kit.Server(t), "nodeset-scale", arm, twice)
		duplicates := got.extra["duplicates_per_round"]
		if duplicates != test.want || got.extra["missing_per_round"] != 0 {
			t.Errorf("%s: %v, want %v duplicates and none missing", arm, got.extra, test.want)
		}
		if test.text != "" {
			published(t, "nodeset-scale", test.text, test.figure, fmt.Sprintf("%v pods too many", duplicates))
		}
		gone, shrinks := got.extra["deleted_too_many_per_round"]
		if counts := arm == "naive" || arm == "expectations"; shrinks != counts {
			t.Errorf("%s: shrinking is counted: %v, want %v", arm, shrinks, counts)
		}
		if arm == "expectations" && gone != 0 {
			t.Errorf("%s deleted %v pods too many", arm, gone)
		}
		if shrinks {
			published(t, "nodeset-scale", "two stale scale-downs by "+arm, "", fmt.Sprintf("%v deleted too many", gone))
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
		service := got.left["0"]
		address, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP")
		if address == "" {
			t.Errorf("%s left the service without address: %v", arm, service.Object)
		}
		own := len(service.GetAnnotations())
		if (own == 3) != (arm != "gmu-replace") {
			t.Errorf("%s left %d annotations of 3 managers", arm, own)
		}
		if arm == "gmu-replace" {
			addresses := 0
			if address == "" {
				addresses = 1
			}
			published(t, "slurm-service", "replacing the spec loses the cluster IP\nbut the API server restores the cluster IP", "1 address lost", fmt.Sprintf("%d addresses lost", addresses))
		}
	}
}

func TestSystemCachePollution(t *testing.T) {
	few := func(p *compare.Parameters) { p.Objects, p.Rounds = 2, 4 }
	for _, test := range []struct {
		arm, text, figure string
		want              float64
	}{
		{"gmu-requeue", "modifying a cached object shows wrong data\nbut only with UnsafeDisableDeepCopy: controller-runtime copies by default", "100 % of reads", 4},
		{"gmu-default-retry", "", "", 0},
		{"ssa", "Server-Side Apply changes no object read", "0 % of reads", 0},
		{"apply", "", "", 0},
	} {
		arm := test.arm
		got := playSystem(t, kit.Server(t), "cache-pollution", arm, few)
		polluted, looked := got.extra["polluted_reads"]
		if polluted != test.want || !looked {
			t.Errorf("%s: %v, want %v polluted reads", arm, got.extra, test.want)
		}
		if test.text != "" {
			published(t, "cache-pollution", test.text, test.figure, percent(int(polluted), 4)+" of reads")
		}
		if got.outcomes[recorded.Landed] != 4 {
			t.Errorf("%s: %v, want 4 landed", arm, got.outcomes)
		}
	}
}

// 20 operators uncordon fewer and fewer nodes, until at least 5 % of the uncordons fail without a retry. There the other
// arms uncordon all nodes.
func TestSystemNodeUncordon(t *testing.T) {
	config := kit.Cluster(t).Config()
	const operators, rounds = 20, 2
	play := func(arm string, nodes int) (played playedSystem, gaveUp int) {
		p := playSystem(t, config, "node-uncordon", arm, func(p *compare.Parameters) { p.Writers, p.Objects, p.Rounds = operators, nodes, rounds })
		if gaveUp = p.outcomes[recorded.GaveUp]; p.landed()+gaveUp != operators*rounds {
			t.Errorf("%s: %v, want each of %d landed or given up", arm, p.outcomes, operators*rounds)
		}
		return p, gaveUp
	}
	nodes := operators
	naive, failed := play("naive", nodes)
	for ; 20*failed < operators*rounds && nodes > operators/2; naive, failed = play("naive", nodes) {
		nodes--
	}
	if 20*failed < operators*rounds {
		t.Fatalf("with two operators on each of %d nodes, %d of %d uncordons fail without a retry", nodes, failed, operators*rounds)
	}
	published(t, "node-uncordon", fmt.Sprintf("%d operators, %d nodes, without retry", operators, nodes), "5 % give up", naive.giveUps())
	for _, test := range []struct{ arm, text, figure string }{
		{"gmu-exponential", "with 4 attempts", "0.1 % give up"}, {"ssa", "Server-Side Apply", ""}, {"apply", "coapply's Applier", ""},
	} {
		got, failed := play(test.arm, nodes)
		if failed > 0 {
			t.Errorf("%s gave up %d of %d", test.arm, failed, operators*rounds)
		}
		for name, node := range got.left {
			if cordoned, _, _ := unstructured.NestedBool(node.Object, "spec", "unschedulable"); cordoned {
				t.Errorf("%s left %s cordoned", test.arm, name)
			}
		}
		published(t, "node-uncordon", test.text, test.figure, got.giveUps())
	}
}

func TestSystemSteadyState(t *testing.T) {
	for _, test := range []struct {
		arm, text, unit string
		perIntent       int
	}{
		{"gmu-requeue", "an unchanged object, compared with a cache", "requests", 0},
		{"ssa", "the same by plain Server-Side Apply", "PATCH", 1},
	} {
		got := playSystem(t, kit.Server(t), "steady-state", test.arm, func(p *compare.Parameters) { p.Rounds = 3 })
		if got.landed() != 12 || got.sent("") != 12*test.perIntent {
			t.Errorf("%s: %v by %d requests, want 12 landed by %d", test.arm, got.outcomes, got.sent(""), 12*test.perIntent)
		}
		published(t, "steady-state", test.text, fmt.Sprintf("%d %s", test.perIntent, test.unit), fmt.Sprintf("%.3g %s", float64(got.sent(""))/12, test.unit))
	}
}

// An increment that is repeated on a fresh read counts once if it lands.
func TestSystemIncrement(t *testing.T) {
	got := playSystem(t, kit.Server(t), "increment", "gmu-default-retry", func(p *compare.Parameters) { p.Rounds = 3 })
	text, _, _ := unstructured.NestedString(got.left["0"].Object, "data", "counter")
	count, err := strconv.Atoi(text)
	if err != nil || count != got.landed() || count == 0 {
		t.Errorf("the counter is %q after %v: %v", text, got.outcomes, err)
	}
	published(t, "increment", "an increment retried on a fresh read counts", "0 counts lost", fmt.Sprintf("%d counts lost", got.landed()-count))
}
