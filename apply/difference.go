package apply

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/fieldowners"
)

// Difference is a field of an intent that landed whose value in the server's answer is not the
// one wanted.
type Difference struct {
	Path         fieldowners.Path
	Wanted, Live any  // nil if there is none; those of a Secret are left out
	Hidden       bool // String leaves both values out, see IsHidden
	// By lists who else owns the field. If it is empty, admission or the server itself changed
	// the value.
	By []fieldowners.Manager
}

// String returns the field, both values, and who changed it.
func (d Difference) String() string {
	live := "absent"
	if d.Live != nil {
		live = showUnless(d.Hidden, d.Live)
	}
	who := "admission or the API server"
	if len(d.By) > 0 {
		who = d.By[0].String()
	}
	return fmt.Sprintf("%s is %s, not %s as wanted: changed by %s", d.Path, live, showUnless(d.Hidden, d.Wanted), who)
}

// differences compares what was sent with the server's answer, for each field of our entry.
// Another spelling of a quantity is no difference, nor is an absent value instead of zero. The
// stringData of a Secret is never in an answer and not compared.
func (c *call) differences(sent *encodedIntent, answer *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry) []Difference {
	if content.SameMeaning(sent.object, answer.Object) { // as nearly always; then whose fields they are need not be read
		return nil
	}
	var found []Difference
	all := readable(entries)
	for _, entry := range all {
		if !c.isOurs(entry.Manager) {
			continue
		}
		for _, path := range entry.Leaves() {
			wanted, set := path.Value(sent.object)
			live, has := path.Value(answer.Object)
			if !set || content.SameMeaning(wanted, live) || !has && content.IsZero(wanted) || c.intent.secret() && path.HasPrefix(stringData) {
				continue
			}
			if content.SameBytes(wanted, live) && gotypes.IsBytes(c.typeOfKind(), path) {
				continue
			}
			difference := Difference{Path: path, Wanted: wanted, Live: live, Hidden: hides(c.ref, path, wanted, live)}
			if c.intent.secret() {
				difference.Wanted, difference.Live = fieldowners.Hide(wanted), fieldowners.Hide(live)
			}
			for _, other := range all {
				if other.Owns(path) && !c.isOurs(other.Manager) {
					difference.By = append(difference.By, other.Manager)
				}
			}
			found = append(found, difference)
		}
	}
	return found
}

var stringData = fieldowners.MustParsePath(".stringData")

// typeOfKind returns the Go type by which the API server itself knows the kind of the object,
// or nil if the kind has none, as a custom resource, or our client does not have it.
func (c *call) typeOfKind() reflect.Type {
	goType := c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind]
	if goType == nil || !gotypes.IsServersOwn(c.ref.GroupVersionKind, goType) {
		return nil
	}
	return goType
}

// compare sets Outcome.Shared and Outcome.Differ from the answer of an apply that landed.
func (c *call) compare(landed *answer) {
	if c.intent.hasBody() {
		return
	}
	if object := landed.object(); object != nil {
		entries := landed.head().ManagedFields
		c.outcome.Shared = c.toTell(c.intent.Intent, c.sharedIn(entries, c.intent.Subresource))
		c.outcome.Differ = c.differences(landed.sent, object, entries)
	}
}

// readable returns the entries that can be read, so that forged entries of others hide nothing
// of ours.
func readable(entries []metav1.ManagedFieldsEntry) (all []fieldowners.Entry) {
	for _, entry := range entries {
		if ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry}); err == nil {
			all = append(all, ownership.Entries()...)
		}
	}
	return all
}
