package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coapply.dev/compare/results"
)

// leaveOut removes from the plan all cells whose workload needs a CustomResourceDefinition that the cluster lacks. It
// prints the removed workloads. It returns an error if only negative controls remain.
func (b *bench) leaveOut(ctx context.Context) error {
	lacks := map[string]bool{}
	var left []string
	for _, cell := range b.Run.Plan {
		w, _ := b.Catalogue.Workload(cell.Workload)
		if _, asked := lacks[w.Name]; asked || w.Needs == "" {
			continue
		}
		has, err := b.cluster.has(ctx, w.Needs)
		if err != nil {
			return fmt.Errorf("looking for the CustomResourceDefinition %s: %w", w.Needs, err)
		}
		if lacks[w.Name] = !has; !has {
			left = append(left, fmt.Sprintf("%s is left out: the cluster lacks the CustomResourceDefinition %s", w.Name, w.Needs))
		}
	}
	b.Run.Plan = slices.DeleteFunc(slices.Clone(b.Run.Plan), func(cell results.PlannedCell) bool { return lacks[cell.Workload] })
	if !slices.ContainsFunc(b.Run.Plan, func(cell results.PlannedCell) bool { return !cell.Control }) {
		return fmt.Errorf("nothing is left to measure: %s", strings.Join(left, "; "))
	}
	for _, line := range left {
		fmt.Fprintln(b.Progress, line)
	}
	return nil
}
