package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/fieldowners"
)

// Conflict is one field that another manager owns and that the intent sets
// differently.
type Conflict struct {
	Manager    fieldowners.Manager // the other owner
	Path       fieldowners.Path    // the root when the server's string matched no field of the object read
	ServerPath string              // the field as the API server names it; ambiguous
	Ours       any                 // the intent's value; nil when Path is the root
	Theirs     any                 // the live value when it was read; nil when Path is the root
	Decision   Decision
}

// String gives the field, our value, and the owner with its value. Values of
// Secrets are not in it.
func (c Conflict) String() string {
	field := c.Path.String()
	if c.Path.IsRoot() {
		return fmt.Sprintf("%s: owned by %s", c.ServerPath, c.Manager)
	}
	return fmt.Sprintf("%s to %s: owned by %s with %s", field, show(c.Ours), c.Manager, show(c.Theirs))
}

// show gives a value on one short line.
func show(v any) string {
	if h, ok := v.(hiddenValue); ok {
		return string(h)
	}
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprintf("%v", v)
	}
	const limit = 80
	text := []rune(strings.TrimSuffix(encoded.String(), "\n"))
	if len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return string(text)
}

// describeConflicts turns the causes of a 409 into conflicts, matched against the
// managed fields of the object read, and has the policy decide each.
func describeConflicts(err error, intent *encodedIntent, live *unstructured.Unstructured, policy Policy) ([]Conflict, error) {
	ownership, parseErr := fieldowners.Parse(live.GetManagedFields())
	if parseErr != nil {
		return nil, fmt.Errorf("managed fields of %v: %w", intent.ref, parseErr)
	}
	var conflicts []Conflict
	for _, cause := range conflictCauses(err) {
		manager, causeErr := parseCause(cause.Message)
		if causeErr != nil {
			return nil, causeErr
		}
		conflict := Conflict{Manager: manager, ServerPath: cause.Field}
		if path, ok := matchPath(ownership, &conflict.Manager, cause.Field); ok {
			conflict.Path = path
			conflict.Ours, _ = path.Value(intent.object)
			conflict.Theirs, _ = path.Value(live.Object)
			conflict.Decision = policy.decide(path)
		} else {
			conflict.Decision = policy.decideByServerPath(cause.Field)
		}
		if intent.secret() && !conflict.Path.IsRoot() {
			conflict.Ours, conflict.Theirs = hidden, hidden
		}
		conflicts = append(conflicts, conflict)
	}
	slices.SortStableFunc(conflicts, func(a, b Conflict) int { return strings.Compare(a.ServerPath, b.ServerPath) })
	return conflicts, nil
}

// matchPath finds the field of the manager's entries that the API server names
// so, and completes the manager with what its entry says. Two fields of one name
// ({"a.b": 1} and {"a": {"b": 1}}) match neither.
func matchPath(ownership fieldowners.Ownership, manager *fieldowners.Manager, serverPath string) (fieldowners.Path, bool) {
	var found []fieldowners.Path
	for _, entry := range ownership.Entries() {
		if entry.Name != manager.Name || entry.Operation != manager.Operation || entry.Subresource != manager.Subresource {
			continue
		}
		for _, path := range entry.Fields() {
			if path.ServerString() != serverPath {
				continue
			}
			*manager = entry.Manager
			if !slices.ContainsFunc(found, path.Equal) {
				found = append(found, path)
			}
		}
	}
	if len(found) != 1 {
		return fieldowners.Path{}, false
	}
	return found[0], true
}

// texts is for the log, whose sinks do not call String on the items of a list.
func texts(conflicts []Conflict) []string {
	var all []string
	for _, c := range conflicts {
		all = append(all, c.String())
	}
	return all
}

func hasRejected(conflicts []Conflict) bool {
	return slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.Decision == Reject })
}

// parseCause reads the message of a FieldManagerConflict cause, the only place
// where the server names the other manager:
//
//	conflict with "NAME"[ with subresource "SUB"][ using APIVERSION][ at TIME]
//
// "using" and "at" stand for Update managers only
// (k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go).
func parseCause(message string) (fieldowners.Manager, error) {
	manager := fieldowners.Manager{Operation: metav1.ManagedFieldsOperationApply}
	rest, ok := strings.CutPrefix(message, "conflict with ")
	if !ok {
		return manager, fmt.Errorf("conflict cause %q names no manager", message)
	}
	var err error
	if manager.Name, rest, err = cutQuoted(rest); err != nil {
		return manager, fmt.Errorf("conflict cause %q: %w", message, err)
	}
	if after, ok := strings.CutPrefix(rest, " with subresource "); ok {
		if manager.Subresource, rest, err = cutQuoted(after); err != nil {
			return manager, fmt.Errorf("conflict cause %q: %w", message, err)
		}
	}
	if after, ok := strings.CutPrefix(rest, " using "); ok {
		manager.Operation = metav1.ManagedFieldsOperationUpdate
		manager.APIVersion, rest, _ = strings.Cut(after, " ")
		if at, ok := strings.CutPrefix(rest, "at "); ok {
			// A time that does not parse is left out: the entry has it as well.
			manager.Time, _ = time.Parse(time.RFC3339, at)
		}
	}
	return manager, nil
}

func cutQuoted(s string) (unquoted, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil || quoted[0] != '"' {
		return "", s, errors.New("a quoted name expected")
	}
	unquoted, err = strconv.Unquote(quoted)
	return unquoted, s[len(quoted):], err
}
