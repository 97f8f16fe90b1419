package coapply

import (
	"reflect"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// unwatched logs, once, each kind that is emitted and whose changes wake nobody: the controller
// would not repair what others do to such objects.
type unwatched struct {
	log     logr.Logger
	watched map[schema.GroupKind]bool
	seen    sync.Map // Go types of configurations, and GroupKinds
}

// tellingUnwatched returns emit with that log. A controller with a Resync looks at all anyway,
// and reconciler.New refuses what has no Emit or a parent's type that is no pointer.
func (b *Builder[P]) tellingUnwatched() (emit func(P) (reconciler.Emission, error), err error) {
	if b.resync > 0 || b.config.Emit == nil || reflect.TypeFor[P]().Kind() != reflect.Pointer {
		return b.config.Emit, nil
	}
	u := &unwatched{log: b.rt.mgr.GetLogger().WithValues("fieldManager", b.fieldManager), watched: map[schema.GroupKind]bool{}}
	kinds := append([]client.Object{reflect.New(reflect.TypeFor[P]().Elem()).Interface().(client.Object)}, b.watched...)
	for _, o := range b.owned {
		kinds = append(kinds, o.object)
	}
	for _, object := range kinds {
		kind, err := b.rt.mgr.GetClient().GroupVersionKindFor(object)
		if err != nil {
			return nil, err
		}
		u.watched[kind.GroupKind()] = true
	}
	return func(parent P) (reconciler.Emission, error) {
		emission, err := b.config.Emit(parent)
		for _, intent := range emission.Intents {
			u.look(intent)
		}
		return emission, err
	}, nil
}

func (u *unwatched) look(intent apply.Intent) {
	if intent.MustExist { // somebody else looks after the object
		return
	}
	var kind schema.GroupKind
	switch raw, ok := intent.Config.(runtime.Unstructured); {
	case ok:
		kind = raw.GetObjectKind().GroupVersionKind().GroupKind()
	case u.had(reflect.TypeOf(intent.Config)): // a Go type is of one kind
	default:
		kind = objectOf(intent.Config).GroupKind()
	}
	if kind.Kind != "" && !u.watched[kind] && !u.had(kind) {
		u.log.Info("objects of this kind are applied, and nothing wakes the controller when somebody changes or deletes one: "+
			"add Owns or Watches for the kind, or Resync", "kind", kind.String())
	}
}

// had reports whether it was called with this before.
func (u *unwatched) had(what any) bool {
	_, had := u.seen.LoadOrStore(what, true)
	return had
}
