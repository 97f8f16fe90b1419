package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"coapply.dev/apply/internal/hidden"
	"coapply.dev/apply/internal/named"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/whatif"
)

// Conflict is one field of an intent that another field manager owns with another value.
type Conflict struct {
	Object     ObjectRef           // the object, with the uid and resourceVersion that were read for the decision
	Manager    fieldowners.Manager // the other owner of the field
	Path       fieldowners.Path    // the field; the root path if it is not clear which field ServerPath means
	ServerPath string              // the field as the API server's response names it, which may be ambiguous
	Ours       any                 // the intent's value; nil if Path is the root
	Theirs     any                 // the live value as it was read; nil if Path is the root
	Decision   Decision

	// Own reports whether the other owner is the Applier's own field manager, which wrote the field by Update or
	// through another subresource. Such a conflict is never relinquished or shared. If the other owner applied the
	// field through a subresource, and the intent is for the object itself, the field is forced. Otherwise the conflict
	// is rejected, unless the policy decides to force the field.
	Own bool

	// Hidden reports whether String hides both values, because they often contain credentials: those of a Secret, and of
	// fields such as env, args and data. For a Secret, Ours and Theirs are fieldowners.Hidden instead of the values.
	Hidden bool

	// Refused is the error with which the function of Policy.ForceUnless prevented a forced apply of the field.
	Refused error

	// Remembered reports whether the last Apply to the object, by the same Applier, already relinquished or shared this
	// field. Such a conflict need not be reported again.
	Remembered bool
}

// String returns one line: the field, the intent's value, the other owner and the live value, and the error in Refused.
// Hidden values are left out.
func (c Conflict) String() string {
	if c.Refused != nil {
		return fmt.Sprintf("%s (%v)", c.text(), c.Refused)
	}
	return c.text()
}

func (c Conflict) text() string {
	field := c.Path.String()
	if c.Path.IsRoot() {
		return fmt.Sprintf("%s: owned by %s", c.ServerPath, c.owner())
	}
	if c.Ours == nil { // the owner wrote with another apiVersion, in which the field has this path
		return fmt.Sprintf("%s, which has another path in the intent's apiVersion: owned by %s (apiVersion %s) with the value %s",
			field, c.owner(), c.Manager.APIVersion, hidden.ShowUnless(c.Hidden, c.Theirs))
	}
	return fmt.Sprintf("%s to %s: owned by %s with value %s", field, hidden.ShowUnless(c.Hidden, c.Ours), c.owner(), hidden.ShowUnless(c.Hidden, c.Theirs))
}

func (c Conflict) owner() string {
	switch {
	case !c.Own:
		return c.Manager.String()
	case c.Manager.Subresource == "":
		return fmt.Sprintf("%s itself (by %s)", c.Manager.Name, c.Manager.Operation)
	}
	return fmt.Sprintf("%s itself (by %s through %s)", c.Manager.Name, c.Manager.Operation, c.Manager.Subresource)
}

// judgeConflicts parses the conflicts in the API server's response, and asks the policy for a decision on each
// conflict. It returns the decided conflicts, and the settlement with its conflicts set anew. If the policy rejects a
// conflict, the error is a ConflictError.
func (c *call) judgeConflicts(refused error, live *unstructured.Unstructured, settled settlement) (found []Conflict, _ settlement, err error) {
	ownership, unread := c.readableOwners(live)
	settled.unread = unread
	if found, err = c.describeConflicts(wire.ConflictCauses(refused), live, ownership); err != nil {
		return nil, settled, &RefusedError{Object: c.ref, Err: err}
	}
	settled.conflicts = merge(settled.concessions.conflicts(), found)
	if hasRejected(found) {
		return nil, settled, &ConflictError{
			Object: c.ref, Subresource: c.intent.Subresource, FieldManager: c.config.FieldManager, Conflicts: settled.conflicts, Err: refused,
		}
	}
	return found, settled, nil
}

// describeConflicts converts the causes of an ownership conflict (HTTP 409), reported or computed, to Conflicts, with the
// decisions of the policy. It takes the values of the fields from the intent and from the live object.
func (c *call) describeConflicts(causes []metav1.StatusCause, live *unstructured.Unstructured, ownership fieldowners.Ownership) ([]Conflict, error) {
	intent := fieldowners.NewIndex(c.intent.Fields)
	fields := named.New(ownership, intent)
	index := fieldowners.NewIndex(live.Object)
	var conflicts []Conflict
	for _, cause := range causes {
		manager, causeErr := fieldowners.ParseCause(cause.Message)
		if causeErr != nil {
			return nil, causeErr
		}
		conflict := Conflict{Object: c.intent.ref.as(live), Manager: manager, ServerPath: cause.Field}
		if path, ok := fields.Find(&conflict.Manager, cause.Field); ok {
			ours, _ := intent.Value(path)
			theirs, _ := index.Value(path)
			conflict.setPath(path, ours, theirs)
		}
		if c.decideOn(&conflict); !conflict.Decision.valid() {
			return nil, fmt.Errorf("the function given to Policy.Func returned %v for the field %s: return Reject, Force, Relinquish or Share instead", conflict.Decision, cause.Field)
		}
		if _, set := intent.Nearest(conflict.Path); !set && conflict.Decision != Force {
			conflict.Decision = Reject // the intent does not set the field, so it cannot be left out
		}
		conflicts = append(conflicts, conflict)
	}
	return conflicts, nil
}

// readableOwners parses the managed fields of an object. It logs the entries that cannot be parsed, and returns them
// separately.
func (c *call) readableOwners(live *unstructured.Unstructured) (fieldowners.Ownership, []*fieldowners.EntryError) {
	ownership, unread := fieldowners.ParseReadable(live.GetManagedFields())
	for _, entry := range unread {
		c.log.Info("cannot read an entry of the managed fields, so the fields of this entry count as fields without an owner", "error", entry.Error())
	}
	return ownership, unread
}

// decideOn lets the policy decide on a conflict, and sets Decision, Own and Refused. A field is never relinquished to,
// or shared with, another managed fields entry of the Applier's own field manager. If that entry is an apply through a
// subresource, and this call applies to the object itself, the field is forced.
func (c *call) decideOn(conflict *Conflict) {
	conflict.Own = conflict.Manager.Name == c.config.FieldManager
	if conflict.Own && conflict.Manager.Operation == metav1.ManagedFieldsOperationApply && c.intent.Subresource == "" {
		conflict.Decision = Force
		return
	}
	policy := c.policyFor(conflict.Manager)
	conflict.Decision = policy.decide(*conflict)
	if conflict.Decision == Force && policy.refuses != nil {
		conflict.Refused = policy.refuses(*conflict)
	}
	if conflict.Refused != nil || conflict.Own && (conflict.Decision == Relinquish || conflict.Decision == Share) {
		conflict.Decision = Reject
	}
}

// policyFor returns the policy for conflicts with an owner. This is Config.Policy, with one exception for intents with
// Belongs. If the managed fields of an object were emptied, the API server records before-first-apply as the owner of
// all fields. An intent with Belongs forces the fields of this owner, unless a rule or the Func of the policy decides
// otherwise. For example, a rule that relinquishes .spec.replicas to an autoscaler still applies.
func (c *call) policyFor(owner fieldowners.Manager) Policy {
	policy := c.config.Policy
	if c.intent.Belongs != nil && owner.Name == fieldowners.BeforeFirstApply && owner.Operation == metav1.ManagedFieldsOperationUpdate {
		policy.otherwise = Force
	}
	return policy
}

// setPath sets the path and both values of a conflict. It sets Hidden, and hides the values of a Secret.
func (c *Conflict) setPath(path fieldowners.Path, ours, theirs any) {
	c.Path, c.Ours, c.Theirs = path, ours, theirs
	c.Hidden = hidden.Is(c.Object.GroupKind(), path, c.Ours, c.Theirs)
	if c.Object.isSecret() {
		c.Ours, c.Theirs = fieldowners.Hide(c.Ours), fieldowners.Hide(c.Theirs)
	}
}

// sameField reports whether two conflicts are on the same field and with the same other owner.
func (c Conflict) sameField(other Conflict) bool {
	return c.field() == other.field() && c.Path.Equal(other.Path)
}

// conflictField identifies a conflict in the API server's response: by the other owner, and by the API server's name of
// the field.
type conflictField struct {
	owner      fieldowners.Manager // without apiVersion and time
	serverPath string
}

func (c Conflict) field() conflictField { return conflictField{named.Writer(c.Manager), c.ServerPath} }

func (c Conflict) compare(other Conflict) int {
	return cmp.Or(strings.Compare(c.ServerPath, other.ServerPath), strings.Compare(c.Manager.String(), other.Manager.String()))
}

// texts returns the conflicts as strings for a log line, because log sinks do not call String on the items of a list.
func texts(conflicts []Conflict) []string {
	var all []string
	for _, c := range conflicts {
		all = append(all, fmt.Sprintf("%v %v", c.Decision, c))
	}
	return all
}

func hasRejected(conflicts []Conflict) bool {
	return slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.Decision == Reject })
}

// owner returns the owner under which the API server records applies of this call: the Applier's field manager, with the
// operation Apply and the call's subresource.
func (c *call) owner() fieldowners.Manager {
	return fieldowners.Manager{Name: c.config.FieldManager, Operation: metav1.ManagedFieldsOperationApply, Subresource: c.intent.Subresource}
}

// isOurs reports whether the given owner is the owner of applies of this call.
func (c *call) isOurs(m fieldowners.Manager) bool { return c.owner().SameWriter(m) }

// isRefusedBy reports whether the API server would refuse the intent for the given object exactly as it did in refused.
func (c *call) isRefusedBy(ctx context.Context, object *unstructured.Unstructured, refused error) bool {
	schemas, known := c.schemas(ctx)
	if !IsOwnershipConflict(refused) || !known || c.intent.hasBody() {
		return false
	}
	computed, err := c.whatIf(object, schemas)
	if err != nil {
		c.log.V(1).Info("cannot compute the conflicts, so the intent is sent once more", "because", err.Error())
	}
	return err == nil && sameCauses(computed, wire.ConflictCauses(refused))
}

// sameCauses reports whether two lists have the same causes, in any order.
func sameCauses(a, b []metav1.StatusCause) bool {
	byText := func(a, b metav1.StatusCause) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
	}
	return slices.Equal(slices.SortedFunc(slices.Values(a), byText), slices.SortedFunc(slices.Values(b), byText))
}

// merge returns the conflicts that were settled before together with the conflicts in a new response. They are sorted
// by the API server's strings for the fields. A conflict in both lists is returned once, from the new response.
func merge(settled, found []Conflict) []Conflict {
	again := map[conflictField][]Conflict{}
	for _, conflict := range found {
		again[conflict.field()] = append(again[conflict.field()], conflict)
	}
	all := slices.DeleteFunc(slices.Clone(settled), func(c Conflict) bool {
		return slices.ContainsFunc(again[c.field()], c.sameField)
	})
	all = append(all, found...)
	slices.SortStableFunc(all, Conflict.compare)
	return all
}

// whatIf computes the conflicts that the API server would report for an unforced apply of the intent to an object. The
// error says why they are not known.
func (c *call) whatIf(object *unstructured.Unstructured, schemas managedfields.TypeConverter) ([]metav1.StatusCause, error) {
	apply := whatif.Apply{FieldManager: c.config.FieldManager, Subresource: c.intent.Subresource, Config: c.intent.Fields}
	_, conflicts, err := apply.To(object, schemas)
	return conflicts, err
}

// schemas returns the API server's schemas of the intent's version. If they are not known, it returns false, and schemas
// that are deduced from values: each list is then one field.
func (c *call) schemas(ctx context.Context) (managedfields.TypeConverter, bool) {
	if c.config.Steady != nil {
		if known, err := c.config.Steady.schemas.Of(ctx, c.ref.GroupVersion()); err == nil {
			return known.Converter, true
		}
	}
	return managedfields.NewDeducedTypeConverter(), false
}
