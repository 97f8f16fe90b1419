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
	check := func(kind, name string, runs bool, needs string) error {
		switch {
		case name == "" || !runs:
			return fmt.Errorf("%s %q: it needs a Name and %s", kind, name, needs)
		case !isName(name):
			return fmt.Errorf("%s %q: a name is %s", kind, name, names)
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

// names stand in names of files and of objects.
const names = "lower case letters, digits and hyphens, 63 at most"

func isName(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }
