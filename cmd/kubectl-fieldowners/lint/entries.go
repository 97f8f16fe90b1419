package lint

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

func (l linting) ancientChanges() []Finding {
	var found []Finding
	for _, entry := range l.named(fieldowners.AncientChanges, metav1.ManagedFieldsOperationUpdate) {
		f := newFinding(RuleAncientChanges, []fieldowners.Manager{entry.Manager}, entry.Leaves())
		f.Message = fmt.Sprintf("more than ten managers wrote by Update, and the API server merged the oldest of them: "+
			"the writers of %s are no longer known", english.Plural(f.Fields, "field", ""))
		f.Remedy = command.Migrate(fieldowners.AncientChanges, l.mainApplier())
		found = append(found, f)
	}
	return found
}

// unknownManager is a placeholder in a remedy. The user must replace it with the name of an applier.
const unknownManager = "MANAGER"

// findMainApplier returns the name of the applier that owns the most fields of the object, or unknownManager if the
// object has no applier. It ignores entries for subresources and entries in unserved apiVersions.
func (l linting) findMainApplier() string {
	name, most := unknownManager, 0
	for _, entry := range l.managers {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || l.isUnserved(entry.APIVersion) {
			continue
		}
		if n := len(entry.Leaves()); n > most {
			name, most = entry.Name, n
		}
	}
	return name
}

func (l linting) isUnserved(apiVersion string) bool {
	if l.facts.Served == nil {
		return false
	}
	served, known := l.facts.Served(apiVersion)
	return known && !served
}

// unserved finds entries with an apiVersion that the API server does not serve. These entries do no harm while the
// CustomResourceDefinition still lists the version. After the version is removed, the API server rejects applies to
// the object. Up to Kubernetes 1.36, the next write other than an apply removes all managed fields. From 1.37 on,
// writes other than applies are not recorded in the managed fields (kubernetes#136949).
func (l linting) unserved() []Finding {
	var found []Finding
	for _, entry := range l.managers {
		if !l.isUnserved(entry.APIVersion) {
			continue
		}
		f := newFinding(RuleUnservedVersion, []fieldowners.Manager{entry.Manager}, entry.Leaves())
		f.Message = fmt.Sprintf("%s owns %s in %s, which is not served: after the version is removed from the CustomResourceDefinition, applies are rejected, and "+
			"the next write other than an apply drops all managed fields (up to Kubernetes 1.36) or is not recorded in them (from 1.37 on)",
			entry.Manager, english.Plural(f.Fields, "field", ""), entry.APIVersion)
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			f.Message += "; to prevent this, apply the object in a served version before the removal"
			f.Remedy = command.Reapply(entry.Name)
		} else {
			f.Message += "; to prevent this, serve the version again and migrate"
			f.Remedy = command.Migrate(entry.Name, l.mainApplier())
		}
		found = append(found, f)
	}
	return found
}

// duplicates finds managers with several entries of the same operation, subresource and apiVersion. A
// write to the subresource scale can leave such entries. At the next write other than an apply, the API
// server keeps only the last of them.
func (l linting) duplicates() []Finding {
	entries := map[fieldowners.Manager]int{}
	var found []Finding
	for _, raw := range l.entries {
		who := fieldowners.Manager{Name: raw.Manager, Operation: raw.Operation, Subresource: raw.Subresource, APIVersion: raw.APIVersion}
		if entries[who]++; entries[who] != 2 {
			continue
		}
		f := newFinding(RuleDuplicateEntry, []fieldowners.Manager{who}, nil)
		f.Message = fmt.Sprintf("%s has several managed fields entries in %s, left by a write to /scale: the next write other than an apply keeps only one of them, "+
			"and the fields of the other entries then have no owner", who, who.APIVersion)
		f.Remedy = command.Migrate(who.Name, l.mainApplier())
		if who.Operation == metav1.ManagedFieldsOperationApply { // the remedy with migrate works only for entries by Update
			f.Remedy = command.Reapply(who.Name)
		}
		found = append(found, f)
	}
	return found
}
