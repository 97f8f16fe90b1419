package apply

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// In each race we apply keys of a ConfigMap, and contesters apply, force, update and delete the same keys before a
// request of ours is sent, or while it is under way. The history of the object then says what each write of ours took
// from whom: nothing but fields that are to be forced, from owners that were judged.

const (
	ours           = "us/Apply"
	racesByDefault = 400
)

// racePolicy is what we do about a contested key.
var racePolicy = map[string]apply.Decision{
	"force": apply.Force, "reject": apply.Reject, "yield": apply.Relinquish, "share": apply.Share,
}

// ourRaceCall applies the intent of a call and fills in what it judged.
type ourRaceCall func(ctx context.Context, namespace, name string, call *ourCall) error

// pinnedCall applies as an Applier does, which pins its force to the version that the policy has judged. cache may be nil.
func pinnedCall(t *testing.T, c client.Client, cache client.Reader) ourRaceCall {
	t.Helper()
	policy := apply.OnConflict(apply.Reject)
	for key, decision := range racePolicy {
		policy = policy.At(".data."+key, decision)
	}
	config := apply.Config{FieldManager: "us", LiveReader: c, Policy: policy}
	if cache != nil {
		config.Steady = kit.NewSteadyState(t, kit.Server(t), cache)
	}
	applier, err := apply.New(c, config)
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, namespace, name string, call *ourCall) error {
		outcome, err := applier.Apply(ctx, apply.Intent{Config: ourKeys(namespace, name, call)})
		for _, conflict := range outcome.Conflicts {
			key := strings.TrimPrefix(conflict.Path.String(), ".data.")
			if conflict.Decision == apply.Force {
				call.judged[key+" "+conflict.Manager.String()] = true
			} else {
				call.conceded[key] = true
			}
		}
		call.at, _ = strconv.ParseInt(outcome.Object.ResourceVersion, 10, 64)
		return err
	}
}

// unpinnedCall applies in the plain way: apply, look at the conflicts, apply with force.
func unpinnedCall(c client.Client) ourRaceCall {
	return func(ctx context.Context, namespace, name string, call *ourCall) error {
		err := c.Apply(ctx, ourKeys(namespace, name, call), client.FieldOwner("us"))
		if !apply.IsOwnershipConflict(err) || mentions(err, ".data.reject") {
			return err
		}
		call.judged["force contester/Apply"] = true
		return c.Apply(ctx, ourKeys(namespace, name, call), client.FieldOwner("us"), client.ForceOwnership)
	}
}

func ourKeys(namespace, name string, call *ourCall) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(name, namespace).WithData(call.intent)
}

// TestForceStealsNothing runs as many races as COAPPLY_RACES says. Half of them are the same in each run of a seed: their
// contesters write before a request of ours is sent, and never beside it.
func TestForceStealsNothing(t *testing.T) {
	races := kit.Races(t, racesByDefault)
	inTurn, beside := runRaces(t, races)
	t.Logf("%d races: writes in turn %v; writes beside each other %v", races, inTurn, beside)
	if steals := inTurn.steals + beside.steals; steals != 0 {
		t.Errorf("%d unintended steals in %d races", steals, races)
	}
	if inTurn.forced == 0 || inTurn.rejected == 0 || inTurn.late == 0 {
		t.Errorf("%v: the races of this seed show nothing", inTurn)
	}
}

// TestRivalBeforeForce: a rival takes a field that is not to be forced exactly before our force is sent. The plain way
// steals the field each time, so this race is real; an Applier never does, and reports the conflict with the rival.
func TestRivalBeforeForce(t *testing.T) {
	t.Parallel()
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(record)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	for how, write := range map[string]func(*arena, context.Context) error{
		"applies": func(a *arena, ctx context.Context) error {
			return a.c.Apply(ctx, corev1ac.ConfigMap(a.name, a.namespace).WithData(data("rival", "reject")), client.FieldOwner("rival"))
		},
		"forces": func(a *arena, ctx context.Context) error {
			return a.c.Apply(ctx, corev1ac.ConfigMap(a.name, a.namespace).WithData(data("rival", "reject", "force")), client.FieldOwner("rival"), client.ForceOwnership)
		},
		"updates": func(a *arena, ctx context.Context) error { return a.edit(ctx, `{"data":{"reject":"rival"}}`) },
	} {
		t.Run(how, func(t *testing.T) {
			plain := rivalBeforeForce(t, newArena(t, c, namespace, "plain-"+how, unpinnedCall(c)), write)
			if plain.count.steals == 0 {
				t.Error("the plain way stole nothing: the rival did not write before the force")
			}
			for name, cache := range map[string]client.Reader{"pinned-": nil, "cached-": kit.NewClient(t, kit.Server(t))} {
				pinned := rivalBeforeForce(t, newArena(t, c, namespace, name+how, pinnedCall(t, c, cache)), write)
				if pinned.count.steals != 0 || pinned.count.rejected != 1 || pinned.history.late != 1 {
					t.Errorf("%s: %v, %d forced applies came too late; want one, and then a conflict", name, pinned.count, pinned.history.late)
				}
			}
		})
	}
}

// rivalBeforeForce has a contester own a field that we force, and a rival write once, before the first force of ours.
func rivalBeforeForce(t *testing.T, a *arena, write func(*arena, context.Context) error) *arena {
	t.Helper()
	ctx := context.WithValue(t.Context(), historyKey{}, a.history)
	if err := a.c.Apply(ctx, corev1ac.ConfigMap(a.name, a.namespace).WithData(data("contester", "force")), client.FieldOwner("contester")); err != nil {
		t.Fatal(err)
	}
	wrote := false
	a.judge(a.call(ctx, data("ours", "force", "reject"), func(request *http.Request) {
		if wrote || request.URL.Query().Get("force") != "true" {
			return
		}
		wrote = true
		if err := write(a, ctx); err != nil {
			t.Error(err)
		}
	}))
	return a
}
