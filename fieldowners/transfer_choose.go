package fieldowners

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// choose returns the handovers of the fields that a source selects. It adds the selected fields that must stay with
// their owner to plan.Unmoved.
func (t Transfer) choose(plan *TransferPlan, owners slots, source Source) []Handover {
	var wanted []Handover
	for _, owner := range owners {
		if owner.Name != source.Manager || owner.Operation != t.Operation || owner == owners.of(t.receiver("")) {
			continue
		}
		for _, path := range owner.Fields() {
			to := t.receiver(t.through(owners, owner, path))
			reason := source.inNoIntent(owner.Operation, path)
			switch {
			case owner == owners.of(to): // the field is already in To's entry
			case !source.covers(path):
				if source.surrounds(path) {
					wanted = append(wanted, Handover{Path: path, From: owner.Manager, To: to, FromKeeps: true})
				}
			case reason != "":
				plan.Unmoved = append(plan.Unmoved, Unmoved{path, owner.Manager, reason})
			default:
				wanted = append(wanted, Handover{Path: path, From: owner.Manager, To: to})
			}
		}
		plan.Unmoved = append(plan.Unmoved, source.indivisible(owner.Entry)...)
	}
	return withoutLoneSurroundings(wanted)
}

func (t Transfer) receiver(subresource string) Manager {
	return Manager{
		Name: t.To, Operation: metav1.ManagedFieldsOperationApply, Subresource: subresource, APIVersion: t.APIVersion,
	}
}

// through returns the subresource of the entry into which the field moves. The result "" means the entry for the object
// itself. The comment of Transfer has the rules.
func (t Transfer) through(owners slots, owner *slot, path Path) string {
	applied := func(name, subresource string) bool {
		return owners.of(Manager{Name: name, Operation: metav1.ManagedFieldsOperationApply, Subresource: subresource}).owns(path)
	}
	renamed := owner.Operation == metav1.ManagedFieldsOperationApply && owner.Name != t.To
	switch {
	case !owner.WritesAround(path):
		return owner.Subresource
	case applied(t.To, ""), applied(owner.Name, ""):
		return ""
	case renamed, owner.Name != t.To && applied(t.To, owner.Subresource):
		return owner.Subresource
	}
	return ""
}

// inNoIntent returns the reason why a field must stay with its current owner, or "" if the field may move. Finalizers,
// and the annotation of client-side kubectl apply, stay if their owner wrote them by Update, because the next apply of
// the new owner would delete them (see Transfer). They move only if the source names their path.
func (s Source) inNoIntent(operation metav1.ManagedFieldsOperationType, path Path) (reason string) {
	named := func(what Path) bool {
		return slices.ContainsFunc(s.Paths, func(p Path) bool { return p.HasPrefix(what) })
	}
	switch {
	case operation != metav1.ManagedFieldsOperationUpdate:
		return ""
	case path.Equal(LastAppliedPath) && !named(LastAppliedPath):
		return "the annotation is the record of client-side kubectl apply, and the next apply by the new owner would delete the annotation (to move the annotation anyway, name its path)"
	case path.HasPrefix(FinalizersPath) && !named(FinalizersPath):
		return "intents list no finalizers, so the next apply by the new owner would remove the finalizer (to move the finalizer anyway, name its path)"
	}
	return ""
}

func (s Source) covers(path Path) bool {
	return len(s.Paths) == 0 || slices.ContainsFunc(s.Paths, path.HasPrefix)
}

// surrounds reports whether a path is a parent of a field that the source selects, or a key field of a list item
// that contains a selected field.
func (s Source) surrounds(path Path) bool {
	return slices.ContainsFunc(s.Paths, func(moving Path) bool {
		return moving.HasPrefix(path) || path.IsKeyField() && moving.HasPrefix(path.Parent())
	})
}

// indivisible returns the leaf fields, such as atomic lists, of which the source selects only a part. They cannot move,
// because the manager owns each of these fields as a whole.
func (s Source) indivisible(owner Entry) []Unmoved {
	var kept []Unmoved
	for _, leaf := range owner.Leaves() {
		for _, part := range s.Paths {
			if !part.Equal(leaf) && part.HasPrefix(leaf) {
				kept = append(kept, Unmoved{leaf, owner.Manager, fmt.Sprintf("the field is owned as a whole, so its part %s cannot move alone", part)})
			}
		}
	}
	return kept
}

// withoutLoneSurroundings drops the handover of a parent field if no field below the parent moves, and the handover of
// a key field if no field of its list item moves. Such a handover would only add a second owner.
func withoutLoneSurroundings(wanted []Handover) []Handover {
	return slices.DeleteFunc(slices.Clone(wanted), func(around Handover) bool {
		item := around.Path
		if item.IsKeyField() {
			item = item.Parent()
		}
		return !slices.ContainsFunc(wanted, func(m Handover) bool {
			return !m.FromKeeps && m.From == around.From && m.Path.HasPrefix(item)
		})
	})
}

// settle adds a handover to Moved if the field can move, and otherwise to Unmoved. It drops a handover that would
// not change the managed fields.
func (p *TransferPlan) settle(m Handover, owners slots, objects Objects) {
	from, to := owners.of(m.From), owners.of(m.To)
	if !from.owns(m.Path) {
		p.Unmoved = append(p.Unmoved, Unmoved{m.Path, m.From, "the manager does not own the field any more"})
		return
	}
	if m.From = from.Manager; m.To.Time.IsZero() {
		m.To.Time = from.Time
	}
	m.ToOwned = to.owns(m.Path)
	if to != nil {
		m.To.APIVersion, m.To.Time = to.APIVersion, later(to.Time, m.To.Time)
	}
	if m.FromKeeps && m.ToOwned {
		return // the managed fields would not change
	}
	if m.From.APIVersion != m.To.APIVersion {
		if reason := p.differs(m, from.fields.Leaves().Has(m.Path.elements), objects); reason != "" {
			p.Unmoved = append(p.Unmoved, Unmoved{m.Path, m.From, reason})
			return
		}
	}
	p.Moved = append(p.Moved, m)
}

// differs returns "" if the field is proven to mean the same in the apiVersions of both managers. Otherwise it returns
// why the field cannot move. For example, scaleTargetRef is one field in the managed fields of autoscaling/v1, and
// several fields in those of autoscaling/v2. After a move to autoscaling/v2, these fields would have no owner.
func (p *TransferPlan) differs(m Handover, leaf bool, objects Objects) string {
	versions := []string{m.From.APIVersion, m.To.APIVersion}
	isRead := func(version string) bool { _, read := objects[version]; return read }
	if unread := slices.DeleteFunc(slices.Clone(versions), isRead); len(unread) > 0 {
		p.Unread = append(p.Unread, unread...)
		return "the object must be read in both " + strings.Join(versions, " and ") + " before the field can move"
	}
	var values []any
	for _, version := range versions {
		if objects[version] == nil {
			return version + " is no longer served, so the meaning of the field in this apiVersion is unknown"
		}
		v, has := m.Path.Value(objects[version])
		if !has {
			return "the object has no such field in " + version
		}
		values = append(values, v)
	}
	if !equalValues(values[0], values[1]) {
		return fmt.Sprintf("the field has different values in %s and %s", m.From.APIVersion, m.To.APIVersion)
	}
	v := value.NewValueInterface(values[0])
	if leaf && (v.IsMap() && !v.AsMap().Empty() || v.IsList() && v.AsList().Length() > 0) {
		return fmt.Sprintf("the field is owned as a whole in %s, but perhaps not in %s", m.From.APIVersion, m.To.APIVersion)
	}
	return ""
}
