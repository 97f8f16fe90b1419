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

// Action is what an apply did to the object.
type Action string

const (
	// Created means that the object did not exist before.
	Created Action = "Created"
	// Configured means that a value or an owner changed. If another field manager has written since
	// this Applier's last apply, the Action may be Configured although nothing changed.
	Configured Action = "Configured"
	// Unchanged means that nothing changed: no request was needed, or the API server kept the
	// resourceVersion.
	Unchanged Action = "Unchanged"
	// Absent means that the object of an intent with MustExist or a Subresource, or of a Release,
	// does not exist. Nothing was written; wait for the object to appear.
	Absent Action = "Absent"
)

// ObjectRef names an object. In results of this package, UID and ResourceVersion are those of the
// last read or response.
type ObjectRef struct {
	schema.GroupVersionKind
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
}

// String returns Kind namespace/name, without uid and resourceVersion, so that messages about the
// same problem are equal. Unknown parts are left out.
func (r ObjectRef) String() string { return r.Key().String() }

// Key returns the key of the object's lane: the kind without a version, the namespace and the name.
func (r ObjectRef) Key() lanes.Key {
	return lanes.Key{GroupKind: r.GroupKind(), NamespacedName: r.NamespacedName}
}

// as returns the reference with the uid and resourceVersion of an object that was read.
func (r ObjectRef) as(read *unstructured.Unstructured) ObjectRef {
	r.UID, r.ResourceVersion = read.GetUID(), read.GetResourceVersion()
	return r
}

// Outcome is the result of one Apply or Release.
type Outcome struct {
	Action    Action     // "" after an error
	Object    ObjectRef  // the object of the intent
	Requests  int        // number of HTTP requests, client-go's own retries included; see RecordExchange
	Attempts  int        // number of applies sent
	Conflicts []Conflict // the settled and the rejected conflicts, with their decisions
	// Differ lists the fields whose value in the API server's response is not the value of the intent,
	// for example because admission changes the value. The intent is then sent each time. Differ needs
	// RecordExchange, or unstructured intents.
	Differ []Difference
	// Unread lists managed fields entries that could not be read when conflicts were decided, such as
	// forged entries. Fields in these entries count as fields without an owner, unless the API server
	// names the field in a conflict.
	Unread []*fieldowners.EntryError
}

// Difference is a field of a successful apply whose value in the API server's response is not the
// value of the intent.
type Difference struct {
	Path         fieldowners.Path
	Wanted, Live any  // the intent's value and the live value; nil if there is none; redacted for a Secret
	Hidden       bool // String hides both values
	// By lists the other owners of the field. If By is empty, admission or the API server itself
	// changed the value.
	By []fieldowners.Manager
}

// String returns one line: the field, both values, and the writer that changed the value.
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

// differences returns the fields that this field manager owns and whose value in the API server's
// response is not the sent value. A quantity in another notation is no difference, nor is an absent
// value instead of zero. The stringData of a Secret is never in a response, and is not compared.
func (c *call) differences(sent *encodedIntent, answer *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry) []Difference {
	if content.SameMeaning(sent.object, answer.Object) { // the usual case, in which no owners need be read
		return nil
	}
	var found []Difference
	ownership, _ := fieldowners.ParseReadable(entries)
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

// typeOfKind returns the Go type that the API server itself uses for the object's kind. It returns
// nil for a custom resource, and for a kind that the client's scheme does not have.
func (c *call) typeOfKind() reflect.Type {
	goType := c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind]
	if goType == nil || !gotypes.IsServersOwn(c.ref.GroupVersionKind, goType) {
		return nil
	}
	return goType
}

// compare sets Outcome.Differ from the response to a successful apply.
func (c *call) compare(landed *answer) {
	if c.intent.hasBody() {
		return
	}
	if object := landed.object(); object != nil {
		c.outcome.Differ = c.differences(landed.sent, object, landed.head().ManagedFields)
	}
}

// Conditions returns the wanted conditions as apply configurations, for a status intent, and sets
// lastTransitionTime in each. If current has the condition with the same status, the time is kept.
// Otherwise the time is now. (meta.SetStatusCondition does the same for get-modify-update.)
// Conditions ignores a lastTransitionTime in wanted. now must not be zero: the API server rejects a
// condition without a time. A condition that is left out is given up, like any field of an intent.
// To give up all conditions, leave out the list: the API server rejects an empty list.
//
//	status := v1alpha1ac.DevboxStatus().
//		WithConditions(apply.Conditions(box.Status.Conditions, metav1.Now(), ready)...)
//
// If current is from a cache that lacks this writer's last write, Conditions does not see the
// lastTransitionTime of that write, and replaces it once by now.
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
