package compare

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Catalogue is the arms and workloads that a command knows: those that come with the benchmark and the user's own.
type Catalogue struct {
	Arms      []Arm
	Workloads []Workload
}

// Arm returns the arm of that name.
func (c Catalogue) Arm(name string) (Arm, bool) {
	i := slices.IndexFunc(c.Arms, func(a Arm) bool { return a.Name == name })
	if i < 0 {
		return Arm{}, false
	}
	return c.Arms[i], true
}

// Workload returns the workload of that name.
func (c Catalogue) Workload(name string) (Workload, bool) {
	i := slices.IndexFunc(c.Workloads, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return c.Workloads[i], true
}

// Check refuses a catalogue in which a name stands twice, or something without which no trial can run is missing.
func (c Catalogue) Check() error {
	seen := map[string]bool{}
	for _, arm := range c.Arms {
		switch {
		case arm.Name == "" || arm.New == nil:
			return fmt.Errorf("arm %q: it needs a Name and New", arm.Name)
		case !isName(arm.Name):
			return fmt.Errorf("arm %q: a name is %s", arm.Name, names)
		case seen["arm "+arm.Name]:
			return fmt.Errorf("arm %q is registered twice", arm.Name)
		}
		seen["arm "+arm.Name] = true
	}
	for _, workload := range c.Workloads {
		switch {
		case workload.Name == "" || workload.Prepare == nil:
			return fmt.Errorf("workload %q: it needs a Name and Prepare", workload.Name)
		case !isName(workload.Name):
			return fmt.Errorf("workload %q: a name is %s", workload.Name, names)
		case seen["workload "+workload.Name]:
			return fmt.Errorf("workload %q is registered twice", workload.Name)
		}
		seen["workload "+workload.Name] = true
	}
	return nil
}

// names stand in names of files and of objects.
const names = "lower case letters, digits and hyphens, 63 at most"

func isName(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }
