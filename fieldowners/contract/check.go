package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"coapply.dev/fieldowners"
)

// Check returns an error for an invalid contract. The problems are: an invalid name of a field manager,
// a malformed kind or path, two claims of one manager for the same kind, a path that is claimed twice,
// and a field that two managers claim without a reason in Shared. The error joins all problems.
func Check(c Contract) error {
	check := checking{}
	for _, claim := range c {
		check.claim(claim)
	}
	return errors.Join(check.errs...)
}

// checking is the state of one call of Check.
type checking struct {
	errs   []error
	before []parsedClaim
}

// parsedClaim is a claim with its parsed paths. Malformed paths are left out.
type parsedClaim struct {
	Claim

	parsed []fieldowners.Path // the paths of Applies and Updates
	shared []fieldowners.Path // the paths of Shared
}

func (c *checking) claim(claim Claim) {
	fail := func(path, format string, args ...any) {
		subject := fmt.Sprintf("%q, %s", claim.Manager, cmp.Or(claim.Kind.String(), "no kind"))
		if path != "" {
			subject += ", " + path
		}
		c.errs = append(c.errs, fmt.Errorf("contract: %s: "+format, append([]any{subject}, args...)...))
	}
	if reason := wrongName(claim.Manager); reason != "" {
		fail("", "%s", reason)
	}
	if reason := wrongKind(claim.Kind); reason != "" {
		fail("", "%s", reason)
	}
	if len(claim.Applies)+len(claim.Updates) == 0 {
		fail("", "the claim has no path; add a path to Applies or Updates, or remove the claim")
	}
	if _, err := labels.Parse(claim.Selector); err != nil {
		fail("", "malformed selector %q: %v", claim.Selector, err)
	}
	this := parsedClaim{Claim: claim}
	for _, operation := range operations {
		this.parsed = append(this.parsed, parseDistinct(claim.paths(operation), fail)...)
	}
	this.shared = parseShared(this, fail)
	for _, other := range c.before {
		other.clash(this, fail)
	}
	c.before = append(c.before, this)
}

func wrongName(manager string) string {
	if manager == "" {
		return "the claim has no field manager"
	}
	if wrong := validation.ValidateFieldManager(manager, nil); len(wrong) > 0 {
		return "not a valid name of a field manager: " + wrong[0].ErrorBody()
	}
	return ""
}

func wrongKind(kind schema.GroupKind) string {
	switch {
	case kind.Kind == "":
		return "the claim has no kind"
	case len(utilvalidation.IsDNS1035Label(strings.ToLower(kind.Kind))) > 0:
		return fmt.Sprintf("%q is not a valid kind; write a kind as Deployment.apps, or without a group if it is in the core group", kind.Kind)
	case kind.Group != "" && len(utilvalidation.IsDNS1123Subdomain(kind.Group)) > 0:
		return fmt.Sprintf("%q is not a valid API group", kind.Group)
	}
	return ""
}

// parsePath parses a path. If the path is malformed or is the root of the object, reason is not "".
func parsePath(text string) (path fieldowners.Path, reason string) {
	path, err := fieldowners.ParsePath(text)
	if wrong := (*fieldowners.PathError)(nil); errors.As(err, &wrong) {
		return fieldowners.Path{}, fmt.Sprintf("malformed path: at offset %d: %s", wrong.Offset, wrong.Reason)
	}
	if path.IsRoot() {
		return fieldowners.Path{}, "the path is empty; nobody can claim the whole object"
	}
	return path, ""
}

// parseDistinct parses the paths of a claim for one operation. It calls fail for each path that is
// malformed, and for each path that is listed twice or is below another path of the list.
func parseDistinct(texts []string, fail func(path, format string, args ...any)) []fieldowners.Path {
	var parsed []fieldowners.Path
	for _, text := range texts {
		path, reason := parsePath(text)
		if reason != "" {
			fail(cmp.Or(text, `""`), "%s", reason)
			continue
		}
		for _, other := range parsed {
			switch {
			case path.Equal(other):
				fail(text, "the path is claimed twice")
			case path.HasPrefix(other):
				fail(text, "the claim already lists %s, which covers this path; remove one of the two", other)
			case other.HasPrefix(path):
				fail(text, "the path covers %s, which the claim lists as well; remove one of the two", other)
			}
		}
		parsed = append(parsed, path)
	}
	return parsed
}

func parseShared(claim parsedClaim, fail func(path, format string, args ...any)) []fieldowners.Path {
	var shared []fieldowners.Path
	for _, text := range slices.Sorted(maps.Keys(claim.Shared)) {
		path, reason := parsePath(text)
		switch {
		case reason != "":
			fail(cmp.Or(text, `""`), "%s", reason)
		case strings.TrimSpace(claim.Shared[text]) == "":
			fail(text, "the path is shared without a reason: give the reason why another manager may own the field as well")
		case !slices.ContainsFunc(claim.parsed, func(p fieldowners.Path) bool { return overlap(p, path) }):
			fail(text, "the path is shared, but not claimed: add it to Applies or Updates")
		default:
			shared = append(shared, path)
		}
	}
	return shared
}

// clash compares two claims of a contract that are for the same kind. It calls fail if both are claims
// of one manager. Otherwise it calls fail for each field that both managers claim, unless one of the
// claims gives a reason in Shared.
func (c parsedClaim) clash(later parsedClaim, fail func(path, format string, args ...any)) {
	switch {
	case c.Kind != later.Kind:
		return
	case c.Manager == later.Manager:
		fail("", "the manager has two claims of this kind; merge them into one claim")
		return
	}
	for _, path := range later.parsed {
		for _, theirs := range c.parsed {
			common := path
			if theirs.Len() > path.Len() {
				common = theirs
			}
			if overlap(path, theirs) && !c.isShared(common) && !later.isShared(common) {
				fail(path.String(), "%s claims %s as well; if both may own the field, give the reason in Shared", c.Manager, theirs)
			}
		}
	}
}

func overlap(a, b fieldowners.Path) bool { return a.HasPrefix(b) || b.HasPrefix(a) }

func (c parsedClaim) isShared(path fieldowners.Path) bool {
	return slices.ContainsFunc(c.shared, path.HasPrefix)
}
