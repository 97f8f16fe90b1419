package model

import (
	"math"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply/update"
	"coapply.dev/compare/results"
)

// policy is how an arm writes one intent.
type policy struct {
	// applies says that the server reads, merges and writes, and repeats that when it lost a race.
	applies bool
	// lanes let one writer at a time read and write.
	lanes bool
	// attempts at most; 0 is without end.
	attempts int
	// backoff in milliseconds after so many failed attempts.
	backoff func(failed int, random *rand.Rand) float64
}

// policies are those of the arms that the model knows.
var policies = map[string]policy{
	"gmu":                 retrying(wait.Backoff{Steps: 1}),
	"gmu-default-retry":   retrying(update.DefaultRetry),
	"gmu-default-backoff": retrying(update.DefaultBackoff),
	"gmu-exponential":     retrying(update.Exponential),
	"gmu-unbounded":       {backoff: fullJitter},
	"gmu-lanes":           inLanes(retrying(update.DefaultRetry)),
	"ssa":                 {applies: true},
	"ssa-force":           {applies: true},
	"apply":               {applies: true},
}

// policyOf is that of an arm in a run: apply had no lanes in its first ones.
func policyOf(run results.Run, arm string) policy {
	p := policies[arm]
	p.lanes = p.lanes || len(run.TakesTurns(arm)) > 0
	return p
}

// retrying has its own jitter: that of wait.Backoff is another one at every call.
func retrying(b wait.Backoff) policy {
	return policy{attempts: b.Steps, backoff: func(failed int, random *rand.Rand) float64 {
		longer := math.Pow(b.Factor, float64(failed-1))
		return milliseconds(b.Duration) * longer * (1 + b.Jitter*random.Float64())
	}}
}

func inLanes(p policy) policy {
	p.lanes = true
	return p
}

// fullJitter is that of the arm gmu-unbounded: a random part of 10 ms, doubled up to a second.
func fullJitter(failed int, random *rand.Rand) float64 {
	return random.Float64() * min(1000, 10*math.Pow(2, float64(failed-1)))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
