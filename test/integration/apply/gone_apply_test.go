package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// decisions are those for the keys a, b and c of a ConfigMap's data, which another
// manager owns; the key "mine" nobody contests.
type decisions [3]apply.Decision

var contestedKeys = []string{"a", "b", "c"}

func (d decisions) policy() apply.Policy {
	policy := apply.OnConflict(apply.Reject)
	for i, key := range contestedKeys {
		policy = policy.At(".data."+key, d[i])
	}
	return policy
}

func data(value string, keys ...string) map[string]string {
	all := map[string]string{}
	for _, key := range keys {
		all[key] = value
	}
	return all
}

// ourConfig is the whole intent of the applies below.
func (g *gone) ourConfig() *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(g.name, g.namespace).WithData(data("ours", append(contestedKeys, "mine")...))
}

// contested makes a ConfigMap whose contested keys "them" owns; a new one is a
// stranger's.
func (g *gone) contested() {
	config := corev1ac.ConfigMap(g.name, g.namespace).WithData(data("theirs", contestedKeys...))
	g.object = g.applied(config, &corev1.ConfigMap{}, "them")
	g.recreate = func() client.Object {
		return g.created(&corev1.ConfigMap{ObjectMeta: g.meta(), Data: data("stranger", append(contestedKeys, "own")...)}, "stranger")
	}
}

// states gives of each key its value and owners.
func states(live client.Object) (map[string]string, error) {
	ownership, err := fieldowners.Parse(live.GetManagedFields())
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for key, value := range live.(*corev1.ConfigMap).Data {
		path, err := fieldowners.ParsePath(".data." + key)
		if err != nil {
			return nil, err
		}
		var owners []string
		for _, owner := range ownership.OwnersOf(path) {
			owners = append(owners, owner.Name)
		}
		all[key] = value + " of " + strings.Join(owners, ", ")
	}
	return all, nil
}

// createdWhole checks that what an intent without a uid created is all of it: what
// gave way to owners that are gone must not be missing, nor hold their values.
func createdWhole(live client.Object) error {
	got, err := states(live)
	want := data("ours of us", append(contestedKeys, "mine")...)
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("created otherwise than wanted (-want +got):\n%s", diff)
	}
	return err
}

// metStranger checks a new object that the intent means as well: each field is
// settled by the policy, or none where one is rejected.
func (d decisions) metStranger(live client.Object, end string) error {
	want := data("stranger of stranger", append(contestedKeys, "own")...)
	if end != "Conflict" {
		want["mine"] = "ours of us"
		for i, key := range contestedKeys {
			switch d[i] {
			case apply.Force:
				want[key] = "ours of us"
			case apply.Share:
				want[key] = "stranger of stranger, us"
			}
		}
	}
	got, err := states(live)
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("ended %s and left (-want +got):\n%s", end, diff)
	}
	return err
}

// outdated is a client whose cache still has the object as it was.
type outdated struct {
	client.Client

	object client.Object
}

func (o outdated) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.object.(*corev1.ConfigMap).DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

var (
	reject     = decisions{apply.Reject, apply.Reject, apply.Reject}
	force      = decisions{apply.Force, apply.Force, apply.Force}
	relinquish = decisions{apply.Relinquish, apply.Relinquish, apply.Relinquish}
	share      = decisions{apply.Share, apply.Share, apply.Share}
	mixed      = decisions{apply.Force, apply.Relinquish, apply.Share}
)

// remembering is what happened before the call: the same intent was applied, and
// the other owner stayed, let go, or lost its fields to a third one.
type remembering string

const (
	nothing remembering = ""
	stayed  remembering = ", again"
	letGo   remembering = ", again, let go since"
	taken   remembering = ", again, taken since"
)

// applying gives the call of Apply. The client's cache may be outdated.
func (g *gone) applying(d decisions, before remembering, cached bool, mean func(*apply.Intent)) goneCall {
	g.contested()
	c := g.c
	if cached {
		c = outdated{g.c, g.object}
	}
	applier, err := apply.New(c, apply.Config{FieldManager: "us", Policy: d.policy(), LiveReader: g.c})
	g.must(err)
	intent := apply.Intent{Config: g.ourConfig()}
	if before != nothing {
		_, err := applier.Apply(g.ctx(), intent)
		g.must(err)
	}
	switch before {
	case letGo:
		g.must(g.c.Apply(g.ctx(), corev1ac.ConfigMap(g.name, g.namespace), client.FieldOwner("them")))
	case taken:
		config := corev1ac.ConfigMap(g.name, g.namespace).WithData(data("taken", contestedKeys...))
		g.must(g.c.Apply(g.ctx(), config, client.FieldOwner("taker"), client.ForceOwnership))
	}
	mean(&intent)
	return func(ctx context.Context) (string, error) { return worded(applier.Apply(ctx, intent)) }
}

// TestGoneDuringApply has each decision, the first time and again.
func TestGoneDuringApply(t *testing.T) {
	var cases []goneCase
	for _, row := range []struct {
		name   string
		d      decisions
		before remembering
		// requests of an intent that does not have to exist, of one that has, and with an outdated cache
		byName, mustExist, outdated int
	}{
		{"Reject", reject, nothing, 2, 3, 2},
		{"Force", force, nothing, 4, 5, 4},
		{"Relinquish", relinquish, nothing, 3, 2, 1},
		{"Relinquish", relinquish, stayed, 2, 2, 2},
		{"Relinquish", relinquish, letGo, 2, 2, 2},
		{"Relinquish", relinquish, taken, 2, 2, 2},
		{"Share", share, nothing, 3, 2, 1},
		{"Share", share, stayed, 2, 2, 2},
		{"Share", share, letGo, 2, 2, 2},
		{"Share", share, taken, 2, 2, 2},
		{"mixed", mixed, nothing, 4, 5, 4},
		{"mixed", mixed, stayed, 2, 2, 2},
		{"mixed", mixed, letGo, 2, 2, 2},
		{"mixed", mixed, taken, 3, 5, 3},
	} {
		cases = append(cases, meanings(row.name+string(row.before), [3]int{row.byName, row.mustExist, row.outdated}, row.d, row.before)...)
	}
	runGone(t, cases)
}

// meanings are the ways in which an intent says which object it means, with the requests of a call
// by name, of one whose object must exist, and of one with an outdated cache.
func meanings(name string, requests [3]int, d decisions, before remembering) []goneCase {
	mismatch, absent := []string{"UIDMismatch"}, []string{"Absent"}
	ofOurs := func(cached bool, mean func(*gone, *apply.Intent)) func(*gone) goneCall {
		return func(g *gone) goneCall {
			return g.applying(d, before, cached, func(intent *apply.Intent) { mean(g, intent) })
		}
	}
	mustExist := func(_ *gone, intent *apply.Intent) { intent.MustExist = true }
	cases := []goneCase{{
		name:     name + ", by name",
		prepare:  ofOurs(false, func(*gone, *apply.Intent) {}),
		requests: requests[0], byName: true,
		deleted: []string{"Created", "Configured"}, created: createdWhole, met: d.metStranger,
	}, {
		name:     name + ", by uid",
		prepare:  ofOurs(false, func(g *gone, intent *apply.Intent) { intent.Config = g.ourConfig().WithUID(g.object.GetUID()) }),
		requests: requests[0],
		deleted:  mismatch, recreated: mismatch,
	}, {
		name:     name + ", must exist",
		prepare:  ofOurs(false, mustExist),
		requests: requests[1], picks: 1,
		deleted: absent, recreated: mismatch, met: d.metStranger,
	}, {
		name:     name + ", must exist, outdated cache",
		prepare:  ofOurs(true, mustExist),
		requests: requests[2],
		deleted:  absent, recreated: mismatch,
	}}
	for i := range cases {
		if d == reject {
			cases[i].undisturbed = "Conflict"
		}
	}
	return cases
}
