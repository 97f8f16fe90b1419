package apply

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
)

// Contract says which fields of a kind are a field manager's, with everything below them,
// in the notation of fieldowners.ParsePath. Labels, annotations, owner references and
// finalizers are everybody's: where one of these is named as a whole, what the intent
// sets of it is the manager's.
//
// Where a whole map of values is named, such as .data, keys that others had put there
// before the wipe are the manager's as well, and go with its next apply.
type Contract map[schema.GroupKind][]string

func (c Contract) parse() (map[schema.GroupKind][]fieldowners.Path, error) {
	parsed := map[schema.GroupKind][]fieldowners.Path{}
	for kind, texts := range c {
		paths, err := parsePaths(texts)
		if err != nil {
			return nil, fmt.Errorf("Contract of %v: %w", kind, err)
		}
		parsed[kind] = paths
	}
	return parsed, nil
}

// hasContract reports whether the intent may take back what is its manager's: the object
// is the manager's own, and the contract says what of it.
func (c *call) hasContract(intent Intent) bool {
	return intent.Belongs != nil && intent.Subresource == "" && len(c.contract[c.ref.GroupKind()]) > 0
}

// lost lists the fields that are the manager's by its contract, and owned by the owner
// whom the server made up.
func (c *call) lost(object client.Object) []fieldowners.Path {
	return c.lostOf(object, fieldowners.Entry.Fields)
}

func (c *call) lostOf(object client.Object, fields func(fieldowners.Entry) []fieldowners.Path) []fieldowners.Path {
	var lost []fieldowners.Path
	for _, entry := range object.GetManagedFields() {
		if !isMadeUp(entry) || entry.APIVersion != c.ref.GroupVersion().String() {
			continue
		}
		ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry})
		if err != nil {
			continue // whoever needs to read it tells
		}
		for _, made := range ownership.Entries() {
			lost = append(lost, slices.DeleteFunc(fields(made), func(path fieldowners.Path) bool { return !c.isMine(path) })...)
		}
	}
	return lost
}

// isMadeUp reports whether an entry is of the owner whom the server made up. Where the
// first apply after the wipe was one of /scale, its fields are those of /scale.
func isMadeUp(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == fieldowners.BeforeFirstApply && entry.Operation == metav1.ManagedFieldsOperationUpdate &&
		entry.Subresource != statusSubresource
}

// mayHaveLost reports whether the server made up an owner in an object, whatever it owns.
func mayHaveLost(object client.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), isMadeUp)
}

func (c *call) isMine(path fieldowners.Path) bool {
	_, wanted := path.Value(c.intent.object)
	return slices.ContainsFunc(c.contract[c.ref.GroupKind()], func(claim fieldowners.Path) bool {
		return path.HasPrefix(claim) && (wanted && path.Len() > claim.Len() || !isEverybodys(claim))
	})
}

// isEverybodys reports whether a path names a whole map or list of metadata, that of a
// template included.
func isEverybodys(claim fieldowners.Path) bool {
	steps := claim.Elements()
	n := len(steps)
	return n >= 2 && steps[n-2].Text == ".metadata" &&
		slices.Contains([]string{".labels", ".annotations", ".ownerReferences", ".finalizers"}, steps[n-1].Text)
}
