package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize/english"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

// crowd is the smallest number of managers that RuleManyManagers reports. With 16 managers, an apply costs the API
// server two to three times as much work as with one manager. If each manager owns several fields, it costs six
// times as much (see docs/managers.md). Objects in a newly installed cluster have at most eight managers.
const crowd = 16

// manyManagers reports an object with so many entries that every write costs more. The API server keeps
// at most ten Update entries, and merges older Update entries into the entry ancient-changes. There is
// no limit for Apply entries.
func (l linting) manyManagers() []Finding {
	entries := slices.Clone(l.managers)
	if len(entries) < crowd {
		return nil
	}
	appliers := 0
	for _, entry := range entries {
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			appliers++
		}
	}
	main := l.mainApplier()
	rank := func(e fieldowners.Entry) int { // entries by Apply come first, as the API server never merges them
		switch {
		case e.Name == main:
			return 2
		case e.Operation != metav1.ManagedFieldsOperationApply:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(entries, func(a, b fieldowners.Entry) int { return cmp.Or(rank(a)-rank(b), len(a.Fields())-len(b.Fields())) })
	f := newFinding(RuleManyManagers, []fieldowners.Manager{entries[0].Manager, entries[1].Manager, entries[2].Manager}, nil)
	f.Message = fmt.Sprintf("the object has %s (%d of them apply) and %d bytes of managed fields: the API server does not limit the number of appliers, and each manager "+
		"makes every write more expensive, quadratically for built-in kinds up to Kubernetes 1.36; let fewer field managers apply to the object, "+
		"and merge the managers that no longer write",
		english.Plural(len(entries), "manager", ""), appliers, encodedSize(l.entries))
	f.Remedy = command.EndSharing(fieldowners.Manager{Name: main}, fieldowners.Manager{Name: unknownManager, Operation: entries[0].Operation}, nil)
	return []Finding{f}
}

// large reports an object if managed fields are more than half of the object's bytes.
func (l linting) large() []Finding {
	if l.facts.ObjectBytes <= 0 {
		return nil
	}
	bytes := encodedSize(l.entries)
	if 2*bytes <= l.facts.ObjectBytes {
		return nil
	}
	sizes := map[fieldowners.Manager]int{}
	for _, raw := range l.entries {
		who := fieldowners.Manager{Name: raw.Manager, Operation: raw.Operation, Subresource: raw.Subresource, APIVersion: raw.APIVersion}
		sizes[who] += encodedSize(raw)
	}
	managers := slices.SortedFunc(maps.Keys(sizes), func(a, b fieldowners.Manager) int { return cmp.Or(sizes[b]-sizes[a], a.Compare(b)) })
	f := newFinding(RuleLargeManagedFields, managers[:min(3, len(managers))], nil)
	f.Message = fmt.Sprintf("%d of the object's %d bytes are managed fields of %s, and %d of these bytes belong to %s: each manager makes every write more expensive; "+
		"release or migrate the managers that no longer write",
		bytes, l.facts.ObjectBytes, english.Plural(len(managers), "manager", ""), sizes[managers[0]], managers[0])
	f.Remedy = "kubectl fieldowners get " + command.Placeholder
	return []Finding{f}
}

func encodedSize(v any) int {
	encoded, _ := json.Marshal(v)
	return len(encoded)
}
