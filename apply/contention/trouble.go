package contention

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// The reasons of events and of the condition Contended.
const (
	ReasonFight = "OwnershipFight"
	ReasonLoop  = "ReconcileLoop"
	// ReasonStranger means that another process writes under the name of one of ours.
	ReasonStranger = "UnknownWriter"
)

// Object is an object that is watched.
type Object struct {
	apply.ObjectRef

	// Parent is the object of ours that controls the object, or zero. An object of ours is its
	// own Parent.
	Parent apply.ObjectRef
}

// subject returns the object on which troubles are reported: the parent, or the object if it
// has none.
func (o Object) subject() apply.ObjectRef {
	if o.Parent.Name != "" {
		return o.Parent
	}
	return o.ObjectRef
}

// Trouble is a fight, a loop or an unknown writer that goes on.
type Trouble struct {
	Reason string
	Object apply.ObjectRef // the contested one; of a loop the one where A wrote
	Other  apply.ObjectRef // of a loop: the one where B wrote
	Path   fieldowners.Path
	A, B   fieldowners.Manager // without operation for a loop; an unknown writer is in A alone
	// Yields are the managers of ours that would force the field, and do not until the trouble
	// ends.
	Yields []string
	// Unsent are writes under our names that this process did not send: for an unknown writer
	// as they were at its beginning, for a fight as they are when Take returns it.
	Unsent []Unsent
}

// String returns who does what to whom. It stays the same while the trouble does.
func (t Trouble) String() string {
	if t.Reason == ReasonStranger {
		return t.unsent()
	}
	if t.Reason == ReasonLoop {
		return fmt.Sprintf("%s, in %v, and %s, in %v, answer each other without end", t.A.Name, t.Object, t.B.Name, t.Other)
	}
	text := fmt.Sprintf("%s of %v: %s and %s take it from each other", t.Path, t.Object, t.A, t.B)
	switch len(t.Yields) {
	case 1:
		text += "; " + t.Yields[0] + " does not force it until the other stops"
	case 2:
		text += "; neither forces it until the other stops"
	}
	return text
}

func (t Trouble) unsent() string {
	var texts []string
	for _, u := range t.Unsent {
		texts = append(texts, u.String())
	}
	return strings.Join(texts, "; ")
}

// News is a trouble to report: one that began, or with Again, a field that was taken back after
// ours had forced it.
type News struct {
	Trouble

	Again bool
	// Next is in what time ours forces the field again; 0 means never.
	Next time.Duration
}

// row is a recorded trouble.
type row struct {
	Trouble

	subject apply.ObjectRef
	family  Object   // of the object, or of the last one written to
	breaker *breaker // nil if none of ours forces
	news    bool
	again   bool
}

// HowToStop returns how to make a manager leave a field. A release is only for managers that
// apply: it takes nothing from one that writes by Update.
func (s *State) HowToStop(m fieldowners.Manager) string {
	if s.Config.HowToStop != nil {
		if how := s.Config.HowToStop(m); how != "" {
			return m.Name + ": " + how
		}
	}
	const released = "; kubectl fieldowners release does nothing for an Update owner"
	switch {
	case m.Operation == metav1.ManagedFieldsOperationApply:
		return m.Name + ": take the field out of what it applies; once it has stopped, kubectl fieldowners release gives up what it applied"
	case m.Subresource == "scale" && strings.HasPrefix(m.Name, "kubectl"):
		return m.Name + ": end whatever runs kubectl scale" + released
	case m.Subresource == "scale":
		return m.Name + ": change or delete the autoscaler" + released
	}
	return m.Name + ": change its configuration, or end it" + released
}
