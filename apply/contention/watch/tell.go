package watch

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners"
)

// teller reports the troubles of a parent, or of an object that has none.
type teller struct {
	state   *contention.State
	live    client.Reader
	applier *apply.Applier
	events  events.EventRecorder

	marks sync.Map // schema.GroupKind to bool: whether its objects can have the condition
}

// about records events for new troubles, and brings the condition of a parent up to date.
func (t *teller) about(ctx context.Context, subject apply.ObjectRef, isParent bool) (reconcile.Result, error) {
	troubles, news, next := t.state.Take(subject)
	for _, n := range news {
		t.event(n.Object, subject, n)
		if n.Reason == contention.ReasonLoop && n.Other != n.Object {
			t.event(n.Other, subject, n)
		}
		if n.Object != subject && n.Other != subject {
			t.event(subject, n.Object, n)
		}
	}
	if isParent {
		if err := t.mark(ctx, subject, troubles); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

func (t *teller) event(regarding, related apply.ObjectRef, n contention.News) {
	var other runtime.Object
	if related != regarding {
		other = reference(related)
	}
	t.events.Eventf(reference(regarding), other, corev1.EventTypeWarning, n.Reason, cut(action(n), 128), "%s", cut(note(n, t.state.PerMinute, t.state.HowToStop), 1024))
}

// action returns an event's action, different for each trouble: events of one object with the
// same reason and action are counted as one, with the note of the first.
func action(n contention.News) string {
	switch {
	case n.Reason != contention.ReasonFight:
		return "Watch " + n.A.Name
	case n.Again:
		return "ForceOnce " + n.Path.String()
	case len(n.Yields) > 0:
		return "StopForcing " + n.Path.String()
	}
	return "Watch " + n.Path.String()
}

// cut returns a text cut to the limit, in bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

func reference(ref apply.ObjectRef) *corev1.ObjectReference {
	apiVersion, kind := ref.ToAPIVersionAndKind()
	return &corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}
}

// note returns an event's note: what happened and what to do.
func note(n contention.News, perMinute int, howToStop func(fieldowners.Manager) string) string {
	switch n.Reason {
	case contention.ReasonLoop:
		return n.Trouble.String() + ": one of them has to stop writing what the other reads"
	case contention.ReasonStranger:
		return n.Trouble.String() + whoWrote
	}
	text := fmt.Sprintf("%s of %v: %s and %s took it from each other more than %d times in a minute", n.Path, n.Object, n.A, n.B, perMinute)
	if n.Again {
		text = fmt.Sprintf("%s of %v, of %s and %s, was taken back after one more try", n.Path, n.Object, n.A, n.B)
	}
	if n.Next > 0 {
		text += fmt.Sprintf(": %s will not force it for %v", strings.Join(n.Yields, " and "), n.Next)
	}
	for _, unsent := range n.Unsent {
		text += "; " + unsent.String()
	}
	if len(n.Unsent) > 0 {
		return text + whoWrote
	}
	return text + "; stop one of the two. " + howToStop(n.A) + ". " + howToStop(n.B)
}

// whoWrote is the next step if somebody may be using a name of ours.
const whoWrote = "; the audit log of the API server says who sent them, and config/admission keeps others from using the name"
