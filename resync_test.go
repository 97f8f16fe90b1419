package coapply

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestShare: in a round each parent has one turn, and steps differ by one turn at most.
func TestShare(t *testing.T) {
	for _, test := range []struct{ parents, steps int }{{0, 600}, {1, 600}, {7, 3}, {599, 600}, {600, 600}, {10_000, 600}, {5, 1}} {
		round := make([]types.NamespacedName, test.parents)
		for i := range round {
			round[i].Name = string(rune('a' + i))
		}
		var all []types.NamespacedName
		least, most := test.parents, 0
		for at := range test.steps {
			part := share(round, at, test.steps)
			least, most = min(least, len(part)), max(most, len(part))
			all = append(all, part...)
		}
		if !slices.Equal(all, round) || most-least > 1 {
			t.Errorf("%d parents in %d steps: %d turns, %d to %d a step", test.parents, test.steps, len(all), least, most)
		}
	}
}
