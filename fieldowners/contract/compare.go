package contract

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

// Rule is the kind of violation that a Finding reports.
type Rule string

const (
	// RuleOutside means that a manager owns fields that the contract does not allow this manager to own, and that RuleWide
	// does not apply.
	RuleOutside Rule = "outside-contract"
	// RuleWide means that a manager of the contract has updated fields outside of metadata and status, although the
	// contract does not allow the manager to own these fields. The usual cause is an update of the whole object.
	RuleWide Rule = "wide-update"
)

// Finding describes fields that one manager owns although the contract does not allow it.
type Finding struct {
	Rule    Rule
	Manager fieldowners.Manager
	Kind    schema.GroupKind
	Paths   []fieldowners.Path // the fields that Manager owns and must not own, sorted
	// Owner is the manager to which the contract assigns the fields, with the allowed operation. If the contract
	// assigns the fields to no manager, Owner is the zero value.
	Owner fieldowners.Manager
	// Missing means that Owner owns no field of the object.
	Missing bool
}

// Message returns one sentence that names the manager, the number of fields, and their correct owner.
func (f Finding) Message() string {
	fields := "1 field"
	if n := len(f.Paths); n != 1 {
		fields = fmt.Sprintf("%d fields", n)
	}
	text := fmt.Sprintf("%s owns %s of %s that the contract ", f.Manager, fields, f.Kind)
	switch f.Owner.Name {
	case "":
		text += "does not allow this manager to own"
	case f.Manager.Name:
		text += "allows this manager to own by " + string(f.Owner.Operation) + " only"
	default:
		text += "assigns to " + f.Owner.Name
	}
	if f.Missing {
		text += ", which owns no field of the object"
	}
	if f.Rule == RuleWide {
		text += "; an update of the whole object takes fields that the client did not intend to change"
	}
	return text
}

// Comparer compares a contract with many objects. It is safe for concurrent use.
type Comparer struct {
	managers map[string]bool
	kinds    map[schema.GroupKind][]grant
}

// grant is the permission of one manager to own one path, from a claim of the contract.
type grant struct {
	owner     fieldowners.Manager // the manager, and the operation by which it may own the path
	path      fieldowners.Path
	exclusive bool            // whether no other manager may own the path
	selector  labels.Selector // matches the objects of the manager; nil if the claim has no selector
}

// expects reports whether the manager should own its path on an object with the given labels (see Claim.Selector).
// present contains the managers of the contract that own a field of the object.
func (g grant) expects(present map[string]bool, of labels.Set) bool {
	if g.selector == nil || present[g.owner.Name] {
		return len(present) > 0
	}
	return g.selector.Matches(of)
}

// NewComparer returns a Comparer for a contract, or an error if Check rejects the contract.
func NewComparer(c Contract) (*Comparer, error) {
	if err := Check(c); err != nil {
		return nil, err
	}
	comparer := &Comparer{managers: map[string]bool{}, kinds: map[schema.GroupKind][]grant{}}
	for _, claim := range c {
		comparer.managers[claim.Manager] = true
		comparer.kinds[claim.Kind] = append(comparer.kinds[claim.Kind], grantsOf(claim)...)
	}
	return comparer, nil
}

func grantsOf(claim Claim) []grant {
	var grants []grant
	var selector labels.Selector
	if claim.Selector != "" {
		selector, _ = labels.Parse(claim.Selector) // Check has parsed it
	}
	for _, operation := range operations {
		owner := fieldowners.Manager{Name: claim.Manager, Operation: operation}
		for _, text := range claim.paths(operation) {
			path := fieldowners.MustParsePath(text) // Check has parsed it
			isShared := func(other string) bool { return overlap(path, fieldowners.MustParsePath(other)) }
			shared := slices.ContainsFunc(slices.Collect(maps.Keys(claim.Shared)), isShared)
			grants = append(grants, grant{owner, path, !shared && !isEverybodys(path), selector})
		}
	}
	return grants
}

// Exclusive returns the claimed paths that no other manager may own. Check must accept the claim.
func (c Claim) Exclusive() (paths []fieldowners.Path) {
	for _, g := range grantsOf(c) {
		if g.exclusive {
			paths = append(paths, g.path)
		}
	}
	return paths
}

// Names reports whether any claim of the contract is for the given field manager.
func (c *Comparer) Names(manager string) bool { return c.managers[manager] }

// Compare compares the contract with the ownership of an object of the given kind and labels. It returns the
// findings sorted by manager. If no manager of the contract owns a field of the object and no Selector matches the
// object, there are no findings.
//
// A manager of the contract may own only the fields that it claims, and only by the claimed operation. Any other
// manager may own every field that is not exclusive. A claimed path is exclusive unless it overlaps a path in Shared of
// the claim. It is exclusive only on objects of which the claiming manager owns a field, or must own a field (see
// Claim.Selector). Managers that the API server invents, such as before-first-apply, are skipped.
func (c *Comparer) Compare(kind schema.GroupKind, of labels.Set, ownership fieldowners.Ownership) (found []Finding) {
	entries := ownership.Entries()
	present := map[string]bool{}
	for _, entry := range entries {
		if c.managers[entry.Name] {
			present[entry.Name] = true
		}
	}
	grants := c.kinds[kind]
	here := slices.DeleteFunc(slices.Clone(grants), func(g grant) bool { return !g.expects(present, of) })
	comparing := comparing{kind, grants, here, present}
	for _, entry := range entries {
		switch {
		case present[entry.Name]:
			found = append(found, comparing.named(entry)...)
		case entry.Name != fieldowners.BeforeFirstApply && entry.Name != fieldowners.AncientChanges:
			found = append(found, comparing.stranger(entry)...)
		}
	}
	return found
}

// comparing is the state of one call of Compare, for one object.
type comparing struct {
	kind    schema.GroupKind
	grants  []grant         // all grants for the object's kind
	here    []grant         // the grants whose managers should own their paths on this object
	present map[string]bool // the managers of the contract that own a field of the object
}

// named returns the findings about an entry whose manager the contract names: fields that the manager does not claim.
func (c comparing) named(entry fieldowners.Entry) []Finding {
	found := findings{}
	for _, path := range entry.Leaves() {
		if c.allows(entry, path) {
			continue
		}
		rule := RuleOutside
		if entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" && isContent(path) {
			rule = RuleWide
		}
		found.add(Finding{Rule: rule, Manager: entry.Manager, Kind: c.kind, Owner: c.ownerOf(entry.Name, path)}, path)
	}
	return found
}

// allows reports whether the contract allows a manager to own a path. The parents of a claimed path are
// also allowed, because a manager that gives up the last field of a map still owns the empty map.
func (c comparing) allows(entry fieldowners.Entry, path fieldowners.Path) bool {
	return slices.ContainsFunc(c.grants, func(g grant) bool {
		return g.owner.Name == entry.Name && g.owner.Operation == entry.Operation && (Covers(g.path, path) || g.path.HasPrefix(path))
	})
}

// ownerOf returns the manager and operation to which the contract assigns a field. If several claims include the
// field, ownerOf prefers a claim of the given manager.
func (c comparing) ownerOf(manager string, path fieldowners.Path) (owner fieldowners.Manager) {
	for _, g := range c.grants {
		if Covers(g.path, path) && (owner.Name == "" || g.owner.Name == manager) {
			owner = g.owner
		}
	}
	return owner
}

// stranger returns the findings about the exclusive fields (see Compare) of a manager that the contract does not name.
func (c comparing) stranger(entry fieldowners.Entry) []Finding {
	found := findings{}
	for _, path := range entry.Leaves() {
		i := slices.IndexFunc(c.here, func(g grant) bool {
			return g.exclusive && path.HasPrefix(g.path) && (c.present[g.owner.Name] || !c.isShared(path))
		})
		if i >= 0 {
			owner := c.here[i].owner
			found.add(Finding{Rule: RuleOutside, Manager: entry.Manager, Kind: c.kind, Owner: owner, Missing: !c.present[owner.Name]}, path)
		}
	}
	return found
}

// isShared reports whether a claim of the path allows other managers to own the path as well.
func (c comparing) isShared(path fieldowners.Path) bool {
	return slices.ContainsFunc(c.grants, func(g grant) bool { return !g.exclusive && path.HasPrefix(g.path) })
}

// isContent reports whether a path is outside of apiVersion, kind, metadata and status.
func isContent(path fieldowners.Path) bool {
	first := path.Elements()[0].Text
	return !slices.Contains([]string{".apiVersion", ".kind", ".metadata", ".status"}, first)
}

// findings are the findings about one manager, with one finding for each pair of rule and owner.
type findings []Finding

// add adds a path to the finding in f with the same rule and owner as like. If f has no such finding, add appends like
// with this path.
func (f *findings) add(like Finding, path fieldowners.Path) {
	i := slices.IndexFunc(*f, func(known Finding) bool { return known.Rule == like.Rule && known.Owner == like.Owner })
	if i < 0 {
		i = len(*f)
		*f = append(*f, like)
	}
	(*f)[i].Paths = append((*f)[i].Paths, path)
}
