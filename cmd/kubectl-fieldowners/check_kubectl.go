package main

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
)

// checkTakeover is what kubectl apply --server-side does beside the apply, whatever its
// field manager (migrateToSSAIfNecessary in k8s.io/kubectl/pkg/cmd/apply): it takes over
// all that was written by client-side apply, and applies the file once more, which
// removes what the file does not list. Other clients do nothing of the kind.
type checkTakeover struct {
	From    []ownerview.OwnerItem `json:"from"`
	Removes []string              `json:"removes"` // paths, owned by nobody else
}

// String says what is to be feared, and of whose fields.
func (t *checkTakeover) String() string {
	var owners []string
	for _, o := range t.From {
		owners = append(owners, o.String())
	}
	return "kubectl apply, but no other client, would remove as well what the file does not list and " +
		strings.Join(owners, ", ") + " wrote by client-side apply"
}

// takeover returns what kubectl would take over of a live object; nil for nothing.
func takeover(live fieldowners.Ownership, intent map[string]any) *checkTakeover {
	var found checkTakeover
	for _, entry := range live.Entries() {
		if entry.Operation != metav1.ManagedFieldsOperationUpdate || entry.Subresource != "" || !entry.Owns(fieldowners.LastAppliedPath) {
			continue
		}
		found.From = append(found.From, ownerview.Owner(entry.Manager))
		for _, path := range entry.Leaves() {
			if _, listed := path.Nearest(intent); !listed && !path.Equal(fieldowners.LastAppliedPath) && len(live.OwnersOf(path)) == 1 {
				found.Removes = append(found.Removes, path.String())
			}
		}
	}
	if len(found.Removes) == 0 {
		return nil
	}
	slices.Sort(found.Removes)
	return &found
}
