package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"coapply.dev/apply/update"
	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/results"
)

// TestBackoffs: what is simulated is what client-go does, but for which random number it draws.
func TestBackoffs(t *testing.T) {
	for arm, b := range map[string]wait.Backoff{
		"gmu-default-retry": retry.DefaultRetry, "gmu-default-backoff": retry.DefaultBackoff, "gmu-exponential": update.Exponential,
		"gmu-lanes": retry.DefaultRetry,
	} {
		p, random := policies[arm], rand.New(rand.NewPCG(1, 1))
		if p.attempts != b.Steps {
			t.Errorf("%s: %d attempts, want %d", arm, p.attempts, b.Steps)
		}
		longest := 1 + b.Jitter
		b.Jitter = 0
		for failed := 1; failed < p.attempts; failed++ {
			least := milliseconds(b.Step())
			for range 100 {
				if got := p.backoff(failed, random); got < least || got > least*longest {
					t.Fatalf("%s: %v ms after %d attempts, want %v to %v", arm, got, failed, least, least*longest)
				}
			}
		}
	}
}

func TestFullJitter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for failed, ceiling := range map[int]float64{1: 10, 2: 20, 5: 160, 8: 1000, 2000: 1000} {
		sum := 0.0
		for range 1000 {
			got := policies["gmu-unbounded"].backoff(failed, random)
			if sum += got; got < 0 || got > ceiling {
				t.Fatalf("%v ms after %d attempts, want at most %v", got, failed, ceiling)
			}
		}
		if mean := sum / 1000; math.Abs(mean/ceiling-0.5) > 0.05 {
			t.Errorf("%v ms after %d attempts on average, want half of %v", mean, failed, ceiling)
		}
	}
	if attempts := policies["gmu-unbounded"].attempts; attempts != 0 {
		t.Errorf("it ends after %d attempts", attempts)
	}
}

// TestTurns: the writers of apply race in a run that does not say that they take turns.
func TestTurns(t *testing.T) {
	for summary, want := range map[string]bool{"Server-Side Apply": false, "Server-Side Apply in lanes": true} {
		run := results.Run{Arms: []results.ArmInfo{{Name: "apply", Summary: summary}}}
		if got := policyOf(run, "apply"); got.lanes != want || !got.applies {
			t.Errorf("%s: %+v", summary, got)
		}
	}
	if !policyOf(results.Run{}, "gmu-lanes").lanes || policyOf(results.Run{}, "ssa").lanes {
		t.Error("gmu-lanes takes turns in every run, and ssa in none")
	}
}

// TestArmsExist: a policy under a name that no arm has would never be used.
func TestArmsExist(t *testing.T) {
	for name := range policies {
		if !slices.ContainsFunc(arms.All(), func(a compare.Arm) bool { return a.Name == name }) {
			t.Errorf("there is no arm %s", name)
		}
	}
}
