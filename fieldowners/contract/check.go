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
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"coapply.dev/fieldowners"
)

// Check returns an error for an invalid contract. The problems are: an invalid name of a field manager, a malformed kind
// or path, two claims of one manager for the same kind, a path that is claimed twice, and a field that two managers
// claim without a reason in Shared. The error joins all problems.
func Check(c Contract) error {
	var errs []error
	var checked []parsedClaim
	for _, claim := range c {
		parsed := parsedClaim{Claim: claim}
		parsed.check(checked)
		errs, checked = append(errs, parsed.errs...), append(checked, parsed)
	}
	return errors.Join(errs...)
}

// parsedClaim is a claim with its parsed paths. Malformed paths are left out.
type parsedClaim struct {
	Claim

	parsed []fieldowners.Path // the paths of Applies and Updates
	shared []fieldowners.Path // the paths of Shared
	errs   []error            // the problems of the claim
}

// fail adds a problem to errs. If the problem is not about a path, path is "".
func (c *parsedClaim) fail(path, format string, args ...any) {
	subject := fmt.Sprintf("%q, %s", c.Manager, cmp.Or(c.Kind.String(), "no kind"))
	if path != "" {
		subject += ", " + path
	}
	c.errs = append(c.errs, fmt.Errorf("contract: %s: %s", subject, fmt.Sprintf(format, args...)))
}

func (c *parsedClaim) check(before []parsedClaim) {
	switch wrong := validation.ValidateFieldManager(c.Manager, nil); {
	case c.Manager == "":
		c.fail("", "the claim has no field manager")
	case len(wrong) > 0:
		c.fail("", "not a valid name of a field manager: %s", wrong[0].ErrorBody())
	}
	c.checkKind()
	if len(c.Applies)+len(c.Updates) == 0 {
		c.fail("", "the claim has no path; add a path to Applies or Updates, or remove the claim")
	}
	if _, err := labels.Parse(c.Selector); err != nil {
		c.fail("", "malformed selector %q: %v", c.Selector, err)
	}
	for _, operation := range operations {
		c.parsed = append(c.parsed, c.parseDistinct(c.paths(operation))...)
	}
	c.parseShared()
	for _, other := range before {
		c.compare(other)
	}
}

func (c *parsedClaim) checkKind() {
	switch {
	case c.Kind.Kind == "":
		c.fail("", "the claim has no kind")
	case len(utilvalidation.IsDNS1035Label(strings.ToLower(c.Kind.Kind))) > 0:
		c.fail("", "%q is not a valid kind; write the kind as KIND.GROUP, such as Deployment.apps, or as KIND for the core group, such as Pod", c.Kind.Kind)
	case c.Kind.Group != "" && len(utilvalidation.IsDNS1123Subdomain(c.Kind.Group)) > 0:
		c.fail("", "%q is not a valid API group", c.Kind.Group)
	}
}

// parse parses a path. If the path is malformed or is the root of the object, parse adds a problem, and ok is false.
func (c *parsedClaim) parse(text string) (path fieldowners.Path, ok bool) {
	path, err := fieldowners.ParsePath(text)
	if wrong, is := errors.AsType[*fieldowners.PathError](err); is {
		c.fail(text, "malformed path: at offset %d: %s", wrong.Offset, wrong.Reason)
	} else if path.IsRoot() {
		c.fail(`""`, "the path is empty; nobody can claim the whole object")
	}
	return path, err == nil && !path.IsRoot()
}

// parseDistinct parses the paths of a claim for one operation. It adds a problem for each path that is malformed,
// listed twice, or below another path of the list.
func (c *parsedClaim) parseDistinct(texts []string) []fieldowners.Path {
	var parsed []fieldowners.Path
	for _, text := range texts {
		path, ok := c.parse(text)
		if !ok {
			continue
		}
		for _, other := range parsed {
			switch {
			case path.Equal(other):
				c.fail(text, "the path is claimed twice")
			case path.HasPrefix(other):
				c.fail(text, "the claim already lists %s, which covers this path; remove one of the two", other)
			case other.HasPrefix(path):
				c.fail(text, "the path covers %s, which the claim lists as well; remove one of the two", other)
			}
		}
		parsed = append(parsed, path)
	}
	return parsed
}

func (c *parsedClaim) parseShared() {
	for _, text := range slices.Sorted(maps.Keys(c.Shared)) {
		path, ok := c.parse(text)
		switch {
		case !ok:
		case strings.TrimSpace(c.Shared[text]) == "":
			c.fail(text, "the path is shared without a reason: give the reason why another manager may own the field as well")
		case !slices.ContainsFunc(c.parsed, func(p fieldowners.Path) bool { return overlap(p, path) }):
			c.fail(text, "the path is shared, but not claimed: add the path to Applies or Updates")
		default:
			c.shared = append(c.shared, path)
		}
	}
}

// compare adds a problem if an earlier claim is for the same manager and kind. If the earlier claim is for another
// manager and the same kind, compare adds a problem for each field that both managers claim without a reason in Shared.
func (c *parsedClaim) compare(earlier parsedClaim) {
	switch {
	case c.Kind != earlier.Kind:
		return
	case c.Manager == earlier.Manager:
		c.fail("", "the manager has two claims of this kind; merge them into one claim")
		return
	}
	for _, path := range c.parsed {
		for _, theirs := range earlier.parsed {
			common := path
			if theirs.Len() > path.Len() {
				common = theirs
			}
			if overlap(path, theirs) && !c.isShared(common) && !earlier.isShared(common) {
				c.fail(path.String(), "%s claims %s as well; if both may own the field, give the reason in Shared", earlier.Manager, theirs)
			}
		}
	}
}

func overlap(a, b fieldowners.Path) bool { return a.HasPrefix(b) || b.HasPrefix(a) }

func (c *parsedClaim) isShared(path fieldowners.Path) bool {
	return slices.ContainsFunc(c.shared, path.HasPrefix)
}
