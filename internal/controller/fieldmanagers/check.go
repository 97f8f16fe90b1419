package fieldmanagers

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/fieldowners"
)

// Prefix of all names of ours, by which config/admission reserves them.
const Prefix = "coapply-"

// claimed is one path of a claim.
type claimed struct {
	Claim

	path fieldowners.Path
}

// Check refuses claims that cannot be: a name that is no field manager's or not of
// ours, a path that is none, one manager that claims one kind twice in one way, and
// two managers that claim one field without saying why.
func Check(claims []Claim) error {
	var errs []error
	var before []claimed
	seen := map[string]bool{}
	for _, claim := range claims {
		errs = append(errs, checkName(claim.Manager))
		once := fmt.Sprint(claim.Manager, claim.Kind, claim.Fallback)
		if seen[once] {
			errs = append(errs, fmt.Errorf("%s claims %s twice: a manager applies an object once, with everything it wants", claim.Manager, claim.Kind))
		}
		seen[once] = true
		for _, text := range claim.Paths {
			path, err := fieldowners.ParsePath(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s claims %s of %s: %w", claim.Manager, text, claim.Kind, err))
				continue
			}
			this := claimed{claim, path}
			for _, other := range before {
				errs = append(errs, other.clash(this))
			}
			before = append(before, this)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("field managers: %w", err)
	}
	return nil
}

func checkName(manager string) error {
	if invalid := validation.ValidateFieldManager(manager, field.NewPath("manager")); len(invalid) > 0 {
		return invalid.ToAggregate()
	}
	if !strings.HasPrefix(manager, Prefix) || manager == Prefix {
		return fmt.Errorf("%q does not begin with %s, the prefix that config/admission reserves", manager, Prefix)
	}
	return nil
}

// clash tells of a field that two managers claim. Either of them may say why.
func (c claimed) clash(other claimed) error {
	switch {
	case c.Kind != other.Kind, c.Manager == other.Manager, c.Shared != "", other.Shared != "":
		return nil
	case c.path.HasPrefix(other.path), other.path.HasPrefix(c.path):
		return fmt.Errorf("%s and %s both claim %s of %s; if that is meant, Shared says why", c.Manager, other.Manager, longer(c.path, other.path), c.Kind)
	}
	return nil
}

func longer(a, b fieldowners.Path) fieldowners.Path {
	if a.Len() > b.Len() {
		return a
	}
	return b
}
