package compare

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Catalogue has the arms and workloads that the command compare can run: those of the benchmark, and those that the user has added.
type Catalogue struct {
	Arms      []Arm
	Workloads []Workload
}

// Arm returns the arm called name, and whether the catalogue has it.
func (c Catalogue) Arm(name string) (Arm, bool) {
	i := slices.IndexFunc(c.Arms, func(a Arm) bool { return a.Name == name })
	if i < 0 {
		return Arm{}, false
	}
	return c.Arms[i], true
}

// Workload returns the workload called name, and whether the catalogue has it.
func (c Catalogue) Workload(name string) (Workload, bool) {
	i := slices.IndexFunc(c.Workloads, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return c.Workloads[i], true
}

// Check returns an error if a name is invalid, or if two arms or two workloads have the same name. It also returns an
// error if an arm lacks the function New, or a workload lacks the function Prepare.
func (c Catalogue) Check() error {
	seen := map[string]bool{}
	check := func(kind, name string, runs bool, needs string) error {
		switch {
		case name == "" || !runs:
			return fmt.Errorf("%s %q: Name and %s must be set", kind, name, needs)
		case !isName(name):
			return fmt.Errorf("%s %q is not a valid name: use %s", kind, name, names)
		case seen[kind+name]:
			return fmt.Errorf("%s %q is registered twice", kind, name)
		}
		seen[kind+name] = true
		return nil
	}
	for _, arm := range c.Arms {
		if err := check("arm", arm.Name, arm.New != nil, "New"); err != nil {
			return err
		}
	}
	for _, w := range c.Workloads {
		if err := check("workload", w.Name, w.Prepare != nil, "Prepare"); err != nil {
			return err
		}
	}
	return nil
}

// names describes the valid names of arms and workloads. Such a name becomes part of the names of files and Kubernetes objects.
const names = "lower case letters, digits and hyphens, 63 at most"

func isName(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }
