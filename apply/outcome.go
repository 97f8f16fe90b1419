package apply

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/internal/hidden"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
)

// Action says what an apply did to the object.
type Action string

const (
	// Created means that the object did not exist before.
	Created Action = "Created"
	// Configured means that the apply changed a value or an owner. If another field manager has written to the object
	// since this Applier's last apply, the Action may be Configured although the apply changed nothing.
	Configured Action = "Configured"
	// Unchanged means that the apply changed nothing. Either no request was sent, because the cached object proved
	// that nothing would change (see SteadyState), or the response has the resourceVersion that was already known.
	Unchanged Action = "Unchanged"
	// Absent means that nothing was written, because the object does not exist. Apply returns Absent for an intent with
	// MustExist or a Subresource. Release may also return Absent. Wait for the object to appear.
	Absent Action = "Absent"
)

// ObjectRef refers to an object by kind and name. In results of this package, UID and ResourceVersion come from the
// last read or response.
type ObjectRef struct {
	schema.GroupVersionKind
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
}

// String returns Kind namespace/name, without parts that are not known. The uid and resourceVersion are left out, so
// that repeated messages about an object are equal.
func (r ObjectRef) String() string { return r.Key().String() }

// Key returns the key of the object's lane: the group and kind without a version, the namespace and the name.
func (r ObjectRef) Key() lanes.Key {
	return lanes.Key{GroupKind: r.GroupKind(), NamespacedName: r.NamespacedName}
}

// as returns r with the uid and resourceVersion of the object that was read.
func (r ObjectRef) as(read metav1.Object) ObjectRef {
	r.UID, r.ResourceVersion = read.GetUID(), read.GetResourceVersion()
	return r
}

func (r ObjectRef) isSecret() bool { return fieldowners.IsSecret(r.Group, r.Kind) }

// Outcome is the result of one Apply or Release.
type Outcome struct {
	Action    Action     // "" after an error
	Object    ObjectRef  // the object of the intent
	Requests  int        // number of HTTP requests, client-go's own retries included; see RecordExchange
	Attempts  int        // number of writes sent, dry runs included
	Conflicts []Conflict // the conflicts on which the policy decided, with the decisions
	// Differ lists the fields of this apply whose values in the API server's response differ from the intent's values.
	// For example, an admission webhook may have changed a value. Such an intent is sent each time, because the object
	// never has the intent's values.
	Differ []Difference
	// Unread lists the managed fields entries that could not be parsed when conflicts were decided, such as forged
	// entries. A field that is listed only in such entries counts as a field without an owner, unless the API server
	// names the field in a conflict.
	Unread []*fieldowners.EntryError
}

// Difference is a field that has another value in the API server's response than in the intent, after a successful
// apply.
type Difference struct {
	Path         fieldowners.Path
	Wanted, Live any  // the intent's value and the response's; nil if there is none; hidden for a Secret
	Hidden       bool // reports whether String hides both values
	// By lists the other owners of the field. If By is empty, admission or the API server itself
	// changed the value.
	By []fieldowners.Manager
}

// String returns one line: the field, both values, and the writer that changed the value.
func (d Difference) String() string {
	live := "absent"
	if d.Live != nil {
		live = hidden.ShowUnless(d.Hidden, d.Live)
	}
	who := "admission or the API server"
	if len(d.By) > 0 {
		who = d.By[0].String()
	}
	return fmt.Sprintf("%s is %s, not %s as wanted: changed by %s", d.Path, live, hidden.ShowUnless(d.Hidden, d.Wanted), who)
}

// differences returns the fields of this field manager whose values in the API server's response differ from the sent
// values. Two notations of the same quantity count as equal, and so do a zero value and an absent value. The stringData
// of a Secret is not compared, because no response contains it.
func (c *call) differences(sent *encodedIntent, answer map[string]any, entries []metav1.ManagedFieldsEntry) []Difference {
	if content.SameMeaning(sent.Fields, answer) { // the usual case: no managed fields need to be parsed
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
			wanted, set := path.Value(sent.Fields)
			live, has := path.Value(answer)
			if !set || content.SameMeaning(wanted, live) || !has && content.IsZero(wanted) || c.ref.isSecret() && path.HasPrefix(stringData) {
				continue
			}
			if content.SameBytes(wanted, live) && gotypes.IsBytes(c.typeOfKind(), path) {
				continue
			}
			difference := Difference{Path: path, Wanted: wanted, Live: live, Hidden: hidden.Is(c.ref.GroupKind(), path, wanted, live)}
			if c.ref.isSecret() {
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

// typeOfKind returns the Go type of the object's kind if it is the API server's own type. It returns nil for a custom
// resource, and for a kind that the client's scheme does not have.
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
	c.outcome.Differ = c.differences(landed.sent, landed.response.Part(landed.sent.Fields), landed.head().ManagedFields)
}

// Conditions returns the wanted conditions as apply configurations, for an intent that applies a status. It sets the
// lastTransitionTime of each condition, and ignores the lastTransitionTime in wanted. If current contains the condition
// with the same status, Conditions keeps the time of that condition. Otherwise it sets the argument now, which must not be
// zero: the API server rejects a condition without a time. (For a get-modify-update, use meta.SetStatusCondition.)
//
// A condition that is not in wanted is given up, like any field that an intent omits. To give up all conditions, leave
// out the list: the API server rejects an empty list.
//
//	status := v1alpha1ac.DevboxStatus().
//		WithConditions(apply.Conditions(box.Status.Conditions, metav1.Now(), ready)...)
//
// If current comes from a cache, it may lack this writer's last write. If that write added a condition or changed its
// status, Conditions does not see the time of the write, and sets the time now instead.
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
