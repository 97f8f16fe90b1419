package apply

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/fieldowners"
)

// Difference is a field of an intent that landed, and that the server's answer does not
// have as wanted.
type Difference struct {
	Path         fieldowners.Path
	Wanted, Live any  // nil is that there is none; those of a Secret are not in it
	Hidden       bool // String leaves both values out, see Config.Hide
	// By is who owns the field as well. Without one it was admission, or the server itself.
	By []fieldowners.Manager
}

// String gives the field, both values, and who it was.
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

// differences compares what was sent with what the server made of it, field by field of
// our entry. Another spelling of a quantity is no difference, nor is what is zero from what
// is absent. What a Secret takes in as stringData it never shows.
func (c *call) differences(sent *encodedIntent, answer *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry) []Difference {
	if content.SameMeaning(sent.object, answer.Object) { // as nearly always; then whose fields they are need not be read
		return nil
	}
	var found []Difference
	ours := slices.DeleteFunc(slices.Clone(entries), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager != c.config.FieldManager })
	for _, entry := range readable(ours) {
		if !c.isOurs(entry.Manager) {
			continue
		}
		for _, path := range entry.Leaves() {
			wanted, set := path.Value(sent.object)
			live, has := path.Value(answer.Object)
			if !set || has && content.SameMeaning(wanted, live) || !has && content.IsZero(wanted) || c.intent.secret() && path.HasPrefix(stringData) {
				continue
			}
			if content.SameBytes(wanted, live) && gotypes.IsBytes(c.typeOfKind(), path) {
				continue
			}
			difference := Difference{Path: path, Wanted: wanted, Live: live, Hidden: c.config.hides(c.ref, path, wanted, live)}
			if c.intent.secret() {
				difference.Wanted, difference.Live = fieldowners.Hide(wanted), fieldowners.Hide(live)
			}
			for _, other := range readable(entries) {
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

// typeOfKind is the Go type by which the API server itself knows the kind of the object; nil:
// there is none, or our client does not have it. A custom resource is kept as it was sent.
func (c *call) typeOfKind() reflect.Type {
	goType := c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind]
	if goType == nil || !gotypes.IsServersOwn(c.ref.GroupVersionKind, goType) {
		return nil
	}
	return goType
}

// compare looks in the answer of an apply that landed for what people should know
// of it: who shares a field, and what is not as wanted.
func (c *call) compare(landed *answer) {
	if c.dryRun || c.intent.hasBody() {
		return
	}
	if object := landed.object(); object != nil {
		entries := landed.head().ManagedFields
		c.outcome.Shared = c.toTell(c.sharedIn(entries, c.intent.Subresource))
		c.outcome.Differ = c.differences(landed.sent, object, entries)
	}
}

// readable returns the entries that can be read: what others have forged hides nothing of
// ours.
func readable(entries []metav1.ManagedFieldsEntry) (all []fieldowners.Entry) {
	for _, entry := range entries {
		if ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry}); err == nil {
			all = append(all, ownership.Entries()...)
		}
	}
	return all
}
