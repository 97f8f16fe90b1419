package apply

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
)

// Action says what an apply did to the object.
type Action string

const (
	// Created means that the object did not exist before.
	Created Action = "Created"
	// Configured means that a value or an owner changed, or that this cannot be ruled out
	// because another manager wrote since this Applier's last answer.
	Configured Action = "Configured"
	// Unchanged means that nothing changed: the server kept the resourceVersion.
	Unchanged Action = "Unchanged"
	// Absent means that an intent with MustExist or a Subresource, or a Release, found no
	// object. Nothing was written; wait for the object to appear.
	Absent Action = "Absent"
)

// ObjectRef names an object. UID and ResourceVersion are those of the last answer
// that carried them.
type ObjectRef struct {
	schema.GroupVersionKind
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
}

// String returns Kind namespace/name, without uid and resourceVersion, so that equal problems
// read equal. Parts that are not known are left out.
func (r ObjectRef) String() string { return r.Key().String() }

// Key returns the key of the object's lane, which has no version and no uid.
func (r ObjectRef) Key() lanes.Key {
	return lanes.Key{GroupKind: r.GroupKind(), NamespacedName: r.NamespacedName}
}

// as returns the reference with the uid and resourceVersion of the object read.
func (r ObjectRef) as(read *unstructured.Unstructured) ObjectRef {
	r.UID, r.ResourceVersion = read.GetUID(), read.GetResourceVersion()
	return r
}

// Outcome reports one Apply.
type Outcome struct {
	Action    Action     // "" after an error
	Object    ObjectRef  // what was applied to
	Requests  int        // HTTP requests sent, client-go's own retries included; see RecordExchange
	Attempts  int        // applies sent
	Conflicts []Conflict // settled or rejected, with their decisions
	// Differ lists the fields whose value in the server's answer is not the one wanted, for
	// instance because admission rewrites them. Such an intent is sent each time. Differ needs
	// RecordExchange, or unstructured intents.
	Differ []Difference
	// Unread lists entries of the managed fields that could not be read when conflicts were
	// judged, such as forged ones. Their fields count as nobody's, except those that the API
	// server names in a conflict.
	Unread []*fieldowners.EntryError
}

// Difference is a field of an intent that landed whose value in the server's answer is not the
// one wanted.
type Difference struct {
	Path         fieldowners.Path
	Wanted, Live any  // nil if there is none; those of a Secret are left out
	Hidden       bool // String leaves both values out
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
	ownership, _ := fieldowners.ParseReadable(entries) // forged entries of others hide nothing of ours
	all := ownership.Entries()
	for _, entry := range all {
		if !c.isOurs(entry.Manager) {
			continue
		}
		for _, path := range entry.Leaves() {
			wanted, set := path.Value(sent.object)
			live, has := path.Value(answer.Object)
			if !set || content.SameMeaning(wanted, live) || !has && content.IsZero(wanted) || isSecret(c.ref) && path.HasPrefix(stringData) {
				continue
			}
			if content.SameBytes(wanted, live) && gotypes.IsBytes(c.typeOfKind(), path) {
				continue
			}
			difference := Difference{Path: path, Wanted: wanted, Live: live, Hidden: hides(c.ref, path, wanted, live)}
			if isSecret(c.ref) {
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

// compare sets Outcome.Differ from the answer of an apply that landed.
func (c *call) compare(landed *answer) {
	if c.intent.hasBody() {
		return
	}
	if object := landed.object(); object != nil {
		c.outcome.Differ = c.differences(landed.sent, object, landed.head().ManagedFields)
	}
}

// Conditions returns the conditions for a status intent: those wanted, each with the
// lastTransitionTime that it has in current if its status is the same there, and otherwise with
// now (meta.SetStatusCondition does the same for get-modify-update). A lastTransitionTime in
// wanted is ignored, and now must not be zero: the server refuses a condition without a time. A
// condition that is left out is given up, like any field of an intent. To give up all of them,
// leave out the list: the server refuses an empty one.
//
//	status := v1alpha1ac.DevboxStatus().
//		WithConditions(apply.Conditions(box.Status.Conditions, metav1.Now(), ready)...)
//
// If current is older than our own last write, that write's lastTransitionTime is replaced
// once.
func Conditions(current []metav1.Condition, now metav1.Time, wanted ...metav1.Condition) []*metav1ac.ConditionApplyConfiguration {
	configs := make([]*metav1ac.ConditionApplyConfiguration, 0, len(wanted))
	for _, condition := range wanted {
		since := now
		for _, had := range current {
			if had.Type == condition.Type && had.Status == condition.Status && !had.LastTransitionTime.IsZero() {
				since = had.LastTransitionTime
			}
		}
		config := metav1ac.Condition().
			WithType(condition.Type).
			WithStatus(condition.Status).
			WithReason(condition.Reason).
			WithMessage(condition.Message).
			WithLastTransitionTime(since)
		if condition.ObservedGeneration != 0 {
			config.WithObservedGeneration(condition.ObservedGeneration)
		}
		configs = append(configs, config)
	}
	return configs
}
