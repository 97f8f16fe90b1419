package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"coapply.dev/apply/internal/steady"
	"coapply.dev/internal/recent"
)

// BenchmarkSteady is the steady-state check of a Deployment with four managers.
func BenchmarkSteady(b *testing.B) {
	cache := &shopCache{}
	a := newShopApplier(b, cache)
	cache.deployment = applied(b, a)
	versions := [2]*appsv1.Deployment{cache.deployment, cache.deployment.DeepCopy()}
	versions[1].ResourceVersion, versions[1].Status.Replicas = "1001", 3
	key, ok := steady.KeyOf(shop(), "shop", "")
	if !ok {
		b.Fatal("no key")
	}
	unchanged := func(b *testing.B, intent Intent) {
		if outcome, err := a.Apply(b.Context(), intent); err != nil || outcome.Action != Unchanged {
			b.Fatal(outcome, err)
		}
	}
	unchanged(b, Intent{Config: shop()})
	check := func(name string, read func(i int) *appsv1.Deployment) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			_, c := a.begin(b.Context(), Intent{})
			for i := 0; b.Loop(); i++ {
				c.target.read = nil
				c.intent.Read = read(i)
				if _, ok := c.stillSteady(b.Context(), key); !ok {
					b.Fatal("not steady")
				}
			}
		})
	}
	check("check/same-version", func(int) *appsv1.Deployment { return cache.deployment })
	check("check/other-version", func(i int) *appsv1.Deployment { return versions[i%2] })
	b.Run("reconcile", func(b *testing.B) { // get, emit, encode, check
		b.ReportAllocs()
		for b.Loop() {
			unchanged(b, Intent{Config: shop()})
		}
	})
	b.Run("proof", func(b *testing.B) { // of an intent and an object not seen before
		b.ReportAllocs()
		for b.Loop() {
			a.config.Steady.proven = recent.New[steady.Key, *proven](1)
			unchanged(b, Intent{Config: shop()})
		}
	})
}

// BenchmarkSteadyGivesWay is an unchanged intent that leaves a field to another owner.
func BenchmarkSteadyGivesWay(b *testing.B) {
	cache := &shopCache{}
	a := newShopApplier(b, cache)
	versions := [2]*appsv1.Deployment{applied(b, a)}
	versions[1] = versions[0].DeepCopy()
	versions[1].ResourceVersion, versions[1].Status.Replicas = "1001", 3
	intent := fiveReplicas()
	giveWay(a)
	for name, prepare := range map[string]func(i int){
		"same-version":  func(int) { cache.deployment = versions[0] },
		"other-version": func(i int) { cache.deployment = versions[i%2] },
		"proof":         func(int) { cache.deployment, a.config.Steady.proven = versions[0], recent.New[steady.Key, *proven](1) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				prepare(i)
				if outcome, err := a.Apply(b.Context(), intent); err != nil || outcome.Requests > 0 {
					b.Fatal(outcome, err)
				}
			}
		})
	}
}
