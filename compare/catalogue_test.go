package compare

import (
	"context"
	"strings"
	"testing"
)

func TestCatalogueRefuses(t *testing.T) {
	newArm := func(Session) (Writer, error) { return nil, nil }
	prepare := func(context.Context, Stage) (Run, error) { return nil, nil }
	good := func() Catalogue {
		return Catalogue{Arms: []Arm{{Name: "mine", New: newArm}}, Workloads: []Workload{{Name: "mine", Prepare: prepare}}}
	}
	for want, change := range map[string]func(*Catalogue){
		"":                               func(*Catalogue) {},
		"Name and New must be set":       func(c *Catalogue) { c.Arms[0].New = nil },
		"Name and Prepare must be set":   func(c *Catalogue) { c.Workloads[0].Name = "" },
		`arm "a/b" is not a valid name`:  func(c *Catalogue) { c.Arms[0].Name = "a/b" },
		`workload "My own" is not a`:     func(c *Catalogue) { c.Workloads[0].Name = "My own" },
		`arm "mine" is registered twice`: func(c *Catalogue) { c.Arms = append(c.Arms, c.Arms[0]) },
		`workload "mine" is registered`:  func(c *Catalogue) { c.Workloads = append(c.Workloads, c.Workloads[0]) },
	} {
		c := good()
		change(&c)
		if err := c.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
