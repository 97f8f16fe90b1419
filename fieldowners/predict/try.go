package predict

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/merge"
	"sigs.k8s.io/structured-merge-diff/v4/schema"
	"sigs.k8s.io/structured-merge-diff/v4/typed"

	"coapply.dev/fieldowners"
)

// try computes the apply by the API server's own rules, with open maps read in one of the two
// ways.
func (q *question) try(openIsAtomic bool) (outcome, error) {
	types := typed.ParseableType{
		Schema:  &schema.Schema{Types: []schema.TypeDef{{Name: "object", Atom: q.root.typeRef(openIsAtomic).Inlined}}},
		TypeRef: schema.TypeRef{NamedType: new("object")},
	}
	live, err := types.FromUnstructured(q.live, typed.AllowDuplicates)
	if err != nil {
		return outcome{}, q.misfit("the live object does not fit its managed fields", err)
	}
	intent, err := types.FromUnstructured(q.intent)
	if err != nil {
		return outcome{}, q.misfit("the intent does not fit the live object's managed fields, the API server would refuse it", err)
	}
	updater := (&merge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}).BuildUpdater()
	version := fieldpath.APIVersion(q.version)
	var conflicts merge.Conflicts
	managers, ours := q.managers()
	if _, _, err = updater.Apply(live, intent, version, managers, ours, false); err != nil && !errors.As(err, &conflicts) {
		return outcome{}, q.misfit("the intent cannot be merged", err)
	}
	managers, _ = q.managers()
	merged, managers, err := updater.Apply(live, intent, version, managers, ours, true)
	if err != nil {
		return outcome{}, q.misfit("the intent cannot be merged", err)
	}
	return q.compare(conflicts, q.stored(merged.AsValue().Unstructured()), q.ownersAfter(managers, ours)), nil
}

// misfit returns an error, without err if that may quote a value of a Secret.
func (q *question) misfit(what string, err error) error {
	if q.isSecret() {
		return errors.New(what + " (the reason is hidden, it may quote values)")
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (q *question) isSecret() bool {
	group, _, grouped := strings.Cut(q.version, "/")
	if !grouped {
		group = ""
	}
	return fieldowners.IsSecret(group, q.kind)
}

// managers returns the entries by their index in the list, and the index of ours. Sets in
// another apiVersion are used as they are; doubtVersions covers them.
func (q *question) managers() (all fieldpath.ManagedFields, ours string) {
	all = fieldpath.ManagedFields{}
	ours = strconv.Itoa(len(q.entries))
	for i, entry := range q.entries {
		if q.isUs(entry.Manager) {
			ours = strconv.Itoa(i)
		}
		all[strconv.Itoa(i)] = fieldpath.NewVersionedSet(entry.Set(), fieldpath.APIVersion(q.version), entry.Operation == q.us.Operation)
	}
	return all, ours
}

func (q *question) ownersAfter(managers fieldpath.ManagedFields, ours string) fieldowners.Ownership {
	var after []fieldowners.Entry
	for i, entry := range q.entries {
		if set, left := managers[strconv.Itoa(i)]; left {
			after = append(after, fieldowners.EntryOf(entry.Manager, set.Set()))
		}
	}
	if set, has := managers[ours]; has && ours == strconv.Itoa(len(q.entries)) {
		after = append(after, fieldowners.EntryOf(q.us, set.Set()))
	}
	return fieldowners.OwnershipOf(after...)
}

// oneVersion is a converter that converts nothing.
type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }
