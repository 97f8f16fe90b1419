package contract

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

// Rule names what a Comparer finds.
type Rule string

const (
	// RuleOutside means that a manager owns fields that the contract does not give it.
	RuleOutside Rule = "outside-contract"
	// RuleWide means that a manager owns content by Update that the contract does not give it by Update,
	// as after an update of the whole object.
	RuleWide Rule = "wide-update"
)

// Finding is about fields that one manager owns and may not own.
type Finding struct {
	Rule    Rule
	Manager fieldowners.Manager
	Kind    schema.GroupKind
	Paths   []fieldowners.Path // all of them, in the order of paths
	// Owner is the owner of the fields by the contract, with its operation; zero if the
	// contract gives them to nobody.
	Owner fieldowners.Manager
	// Missing means that Owner owns no field of the object.
	Missing bool
}

// Message returns what is wrong, without the fields.
func (f Finding) Message() string {
	fields := "1 field"
	if n := len(f.Paths); n != 1 {
		fields = fmt.Sprintf("%d fields", n)
	}
	text := fmt.Sprintf("%s owns %s of %s that the contract ", f.Manager, fields, f.Kind)
	switch f.Owner.Name {
	case "":
		text += "does not give it"
	case f.Manager.Name:
		text += "gives it by " + string(f.Owner.Operation) + " only"
	default:
		text += "gives to " + f.Owner.Name
	}
	if f.Missing {
		text += ", which owns nothing of the object"
	}
	if f.Rule == RuleWide {
		text += "; an update of the whole object takes what its author did not mean to change"
	}
	return text
}

// Comparer compares a contract with many objects. It is safe for concurrent use.
type Comparer struct {
	managers map[string]bool
	kinds    map[schema.GroupKind][]grant
}

// grant is one path of a contract.
type grant struct {
	manager   string
	operation metav1.ManagedFieldsOperationType
	path      fieldowners.Path
	exclusive bool            // no other manager may own the path
	selector  labels.Selector // matches the objects of the manager; nil if the claim has no selector
}

// expects reports whether a manager should own its path on an object. It is true if the manager
// owns anything of the object. Otherwise a selector decides by the labels of the object. Without
// a selector, expects is true if another manager of the contract owns anything of the object.
func (g grant) expects(present map[string]bool, of labels.Set) bool {
	switch {
	case present[g.manager]:
		return true
	case g.selector != nil:
		return g.selector.Matches(of)
	}
	return len(present) > 0
}

func (g grant) owner() fieldowners.Manager {
	return fieldowners.Manager{Name: g.manager, Operation: g.operation}
}

// NewComparer returns a Comparer of a contract. The error is that of Check.
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
		for _, text := range claim.paths(operation) {
			path := fieldowners.MustParsePath(text) // Check has parsed it
			shared := false
			for other := range claim.Shared {
				shared = shared || overlap(path, fieldowners.MustParsePath(other))
			}
			grants = append(grants, grant{claim.Manager, operation, path, !shared && !isEverybodys(path), selector})
		}
	}
	return grants
}

// Names reports whether the contract names a field manager.
func (c *Comparer) Names(manager string) bool { return c.managers[manager] }

// Compare compares the contract with the ownership of an object of the given kind and labels, and
// returns the findings in the order of managers. An object has no findings if no manager of the contract owns anything of it and no Selector
// matches it.
//
// A manager that the contract names may own the fields that the contract gives it, by the given
// operation. Any other manager may own every field except the fields that the contract gives
// exclusively to a manager of the object. A manager of the object owns at least one field of it,
// or has lost all its fields: see Claim.Selector. Managers that the API server invents, such as
// before-first-apply, are skipped.
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

// comparing is the comparison of one object.
type comparing struct {
	kind    schema.GroupKind
	grants  []grant         // of the kind
	here    []grant         // the grants of managers of the object
	present map[string]bool // the managers of the contract that own anything of the object
}

// named compares what a manager of the contract owns with what it may own.
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

// allows reports whether the contract gives a manager the path, or something below it: a
// manager that gives up the last field of a map is left with the empty map.
func (c comparing) allows(entry fieldowners.Entry, path fieldowners.Path) bool {
	return slices.ContainsFunc(c.grants, func(g grant) bool {
		return g.manager == entry.Name && g.operation == entry.Operation && (Covers(g.path, path) || g.path.HasPrefix(path))
	})
}

// ownerOf returns the owner of a field by the contract; of several, preferably the manager
// itself by the other operation.
func (c comparing) ownerOf(manager string, path fieldowners.Path) (owner fieldowners.Manager) {
	for _, g := range c.grants {
		if Covers(g.path, path) && (owner.Name == "" || g.manager == manager) {
			owner = g.owner()
		}
	}
	return owner
}

// stranger returns findings about a manager outside of the contract that owns what the contract
// gives to others alone.
func (c comparing) stranger(entry fieldowners.Entry) []Finding {
	found := findings{}
	for _, path := range entry.Leaves() {
		i := slices.IndexFunc(c.here, func(g grant) bool {
			return g.exclusive && path.HasPrefix(g.path) && (c.present[g.manager] || !c.isShared(path))
		})
		if i >= 0 {
			owner := c.here[i].owner()
			found.add(Finding{Rule: RuleOutside, Manager: entry.Manager, Kind: c.kind, Owner: owner, Missing: !c.present[owner.Name]}, path)
		}
	}
	return found
}

// isShared reports whether any claim on a path lets other managers own the path as well.
func (c comparing) isShared(path fieldowners.Path) bool {
	return slices.ContainsFunc(c.grants, func(g grant) bool { return !g.exclusive && path.HasPrefix(g.path) })
}

// isContent reports whether a path is neither metadata nor status.
func isContent(path fieldowners.Path) bool {
	first := path.Elements()[0].Text
	return !slices.Contains([]string{".apiVersion", ".kind", ".metadata", ".status"}, first)
}

// findings are the findings about one manager, by rule and by the owner of the fields.
type findings []Finding

// add adds a path to the finding with the same rule and owner as like. If there is no such
// finding, add appends like, which must have no paths.
func (f *findings) add(like Finding, path fieldowners.Path) {
	i := slices.IndexFunc(*f, func(known Finding) bool { return known.Rule == like.Rule && known.Owner == like.Owner })
	if i < 0 {
		i = len(*f)
		*f = append(*f, like)
	}
	(*f)[i].Paths = append((*f)[i].Paths, path)
}
