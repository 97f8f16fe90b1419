package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// TestNarrowProperty has the four verbs change objects that others own in spellings,
// fields and versions that our Go type does not know. Each write has to be the one of a
// client that knows the wire alone and changes there what mutate changed: the server's
// answer to that, as a dry run, is what the verb has to lead to, to the byte of every
// value and to the field of every owner. A write that changes an item of a list without keys is
// refused if it could drop a field that the Go type lacks. COAPPLY_CASES sets how many there are.
//
// The control is a PUT of the typed object: it must fail most of the cases.
func TestNarrowProperty(t *testing.T) {
	t.Parallel()
	cases := kit.Cases(t, 160)
	c := gadgets(t, kit.Server(t))
	schemas := kit.NewSteadyState(t, kit.Server(t), c, gadgetGroup, schema.GroupVersion{Group: gadgetGroup.Group, Version: "v2"}).Schemas
	namespace := kit.NewNamespace(t, kit.NewClient(t, kit.Server(t)))
	var count narrowCount
	var workers sync.WaitGroup
	const side = 4
	for worker := range side {
		workers.Go(func() {
			for n := worker; n < cases && !t.Failed(); n += side {
				r := rand.New(rand.NewPCG(14, uint64(n)))
				kind := narrowKinds[n%len(narrowKinds)]
				w, err := newNarrowWorld(t, c, schemas, r, kind, client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("n%d", n)})
				if err != nil {
					t.Errorf("case %d: the object: %v", n, err)
					return
				}
				if err := w.check(t.Context(), kind, &count); err != nil {
					t.Errorf("case %d: %v", n, err)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d cases: %v, %d refused; the control, a PUT of the typed object, is wrong in %d of %d gadgets and %d of %d others",
		cases, count.verbs, count.refused, count.wide[true], count.controls[true], count.wide[false], count.controls[false])
	if count.wide[true]*2 < count.controls[true] {
		t.Error("a PUT of the typed object passes: the cases prove too little")
	}
	if count.refused == 0 {
		t.Error("no write was refused: the cases prove too little")
	}
}

type narrowCount struct {
	mu             sync.Mutex
	verbs          map[string]int
	wide, controls map[bool]int // of gadgets, and of others
	refused        int
}

func (c *narrowCount) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused++
}

func (c *narrowCount) add(verb string, gadget, wide bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verbs == nil {
		c.verbs, c.wide, c.controls = map[string]int{}, map[bool]int{}, map[bool]int{}
	}
	c.verbs[verb]++
	c.controls[gadget]++
	if wide {
		c.wide[gadget]++
	}
}

// narrowVerb is a call of one of the verbs with its edits.
type narrowVerb struct {
	name   string
	status bool
	edits  []*narrowEdit
	call   func(ctx context.Context, u *update.Updater, object client.Object, mutate func(client.Object) error) (client.Object, error)
}

func (w *narrowWorld) verb(kind narrowKind, typed client.Object) narrowVerb {
	pick := func(from []narrowEdits) []*narrowEdit {
		var picked []*narrowEdit
		for _, i := range w.r.Perm(len(from))[:1+w.r.IntN(3)] {
			if edit := from[i](w.r, typed); edit != nil {
				picked = append(picked, edit)
			}
		}
		return picked
	}
	finalizer := &narrowEdit{what: "the finalizer", typed: func(o client.Object) { o.SetFinalizers(append(o.GetFinalizers(), kit.NarrowFinalizer)) }, wire: func(raw map[string]any) {
		below(raw, "metadata")["finalizers"] = append(items(below(raw, "metadata"), "finalizers"), kit.NarrowFinalizer)
	}}
	switch n := w.r.IntN(6); {
	case n == 0:
		return narrowVerb{"EnsureFinalizer", false, []*narrowEdit{finalizer}, func(ctx context.Context, u *update.Updater, o client.Object, _ func(client.Object) error) (client.Object, error) {
			result, err := update.EnsureFinalizer(ctx, u, o, kit.NarrowFinalizer)
			return result.Object, err
		}}
	case n == 1:
		return narrowVerb{"RemoveFinalizer", false, nil, func(ctx context.Context, u *update.Updater, o client.Object, _ func(client.Object) error) (client.Object, error) {
			with, err := update.EnsureFinalizer(ctx, u, o, kit.NarrowFinalizer)
			if err != nil {
				return nil, err
			}
			result, err := update.RemoveFinalizer(ctx, u, with.Object, kit.NarrowFinalizer)
			return result.Object, err
		}}
	case n < 4 && kind.status != nil:
		return narrowVerb{"Status", true, pick(kind.status), func(ctx context.Context, u *update.Updater, o client.Object, mutate func(client.Object) error) (client.Object, error) {
			result, err := update.Status(ctx, u, o, mutate)
			return result.Object, err
		}}
	}
	return narrowVerb{"Do", false, pick(kind.edits), func(ctx context.Context, u *update.Updater, o client.Object, mutate func(client.Object) error) (client.Object, error) {
		result, err := update.Do(ctx, u, o, mutate)
		return result.Object, err
	}}
}

// check is one case.
func (w *narrowWorld) check(ctx context.Context, kind narrowKind, count *narrowCount) error {
	live, err := w.read()
	if err != nil {
		return err
	}
	typed, err := w.typed(ctx)
	if err != nil {
		return err
	}
	verb := w.verb(kind, typed)
	what := []string{verb.name}
	for _, edit := range verb.edits {
		what = append(what, edit.what)
	}
	wire := live.DeepCopy()
	wire.SetManagedFields(nil)
	for _, edit := range verb.edits {
		edit.wire(wire.Object)
	}
	if err := w.put(ctx, wire, verb.status); err != nil {
		return fmt.Errorf("%v: the PUT on the wire: %w", what, err)
	}
	wide, err := w.control(ctx, typed, verb, wire)
	if err != nil {
		return fmt.Errorf("%v: the control: %w", what, err)
	}
	count.add(verb.name, len(kind.kinds) > 1, wide)

	updater, err := update.New(update.Config{Client: w.c, LiveReader: w.c, FieldManager: kit.OurManager, Schemas: w.schemas})
	if err != nil {
		return err
	}
	given, mutate := w.caller(typed, verb)
	_, err = verb.call(ctx, updater, given, mutate)
	if given == typed && dropsUnknown(live.DeepCopy().Object, wire.DeepCopy().Object) {
		count.refuse()
		if wire = live; !errors.Is(err, update.ErrUnknownField) {
			return fmt.Errorf("%v: %w, want a refusal of\n%s", what, err, contentOf(live))
		}
	} else if err != nil {
		return fmt.Errorf("%v: %w", what, err)
	}
	got, err := w.read()
	if err != nil {
		return err
	}
	content, owners := narrowText(got)
	wantContent, wantOwners := narrowText(wire)
	if verb.name == "RemoveFinalizer" { // there and back: nothing is left of us
		owners = strings.Join(linesOf(owners, func(l string) bool { return !strings.HasPrefix(l, kit.OurManager+" ") }), "\n")
	}
	if content != wantContent || owners != wantOwners {
		return fmt.Errorf("%T %v\n was  %s\n is   %s\n want %s\nowners\n%s\nwant\n%s", given, what, contentOf(live), content, wantContent, owners, wantOwners)
	}
	return nil
}

func linesOf(of string, keep func(string) bool) []string {
	var kept []string
	for line := range strings.SplitSeq(of, "\n") {
		if keep(line) {
			kept = append(kept, line)
		}
	}
	return kept
}

func contentOf(object *unstructured.Unstructured) string {
	content, _ := narrowText(object)
	return content
}

// typed reads the object as its Go type has it.
func (w *narrowWorld) typed(ctx context.Context) (client.Object, error) {
	object, err := w.c.Scheme().New(w.kind)
	if err != nil {
		return nil, err
	}
	typed := object.(client.Object)
	return typed, w.c.Get(ctx, w.key, typed)
}

// put sends what is on the wire as a dry run, and leaves the server's answer there.
func (w *narrowWorld) put(ctx context.Context, object client.Object, status bool) error {
	if status {
		return w.c.Status().Update(ctx, object, client.FieldOwner(kit.OurManager), client.DryRunAll)
	}
	return w.c.Update(ctx, object, client.FieldOwner(kit.OurManager), client.DryRunAll)
}

// control reports whether a PUT of the typed object leads elsewhere than it should.
func (w *narrowWorld) control(ctx context.Context, read client.Object, verb narrowVerb, want *unstructured.Unstructured) (wide bool, err error) {
	typed := read.DeepCopyObject().(client.Object)
	typed.SetManagedFields(nil)
	for _, edit := range verb.edits {
		edit.typed(typed)
	}
	typed.GetObjectKind().SetGroupVersionKind(w.kind) // as the client sends it
	encoded, err := json.Marshal(typed)
	if err != nil {
		return false, err
	}
	put := &unstructured.Unstructured{}
	if err := put.UnmarshalJSON(encoded); err != nil {
		return false, err
	}
	err = w.put(ctx, put, verb.status)
	if apierrors.IsInvalid(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	got, gotOwners := narrowText(put)
	wanted, wantedOwners := narrowText(want)
	return got != wanted || gotOwners != wantedOwners, nil
}

// caller gives the object that a call of the verb names, and its mutate: by a Go type,
// as unstructured or, where metadata alone changes, as that.
func (w *narrowWorld) caller(read client.Object, verb narrowVerb) (client.Object, func(client.Object) error) {
	typed := func(o client.Object) error {
		for _, edit := range verb.edits {
			edit.typed(o)
		}
		return nil
	}
	switch {
	case w.r.IntN(3) == 0:
		named := w.named(w.kind, map[string]any{})
		named.SetUID(read.GetUID())
		return named, func(o client.Object) error {
			for _, edit := range verb.edits {
				edit.wire(o.(*unstructured.Unstructured).Object)
			}
			return nil
		}
	case strings.HasSuffix(verb.name, "Finalizer") && w.r.IntN(2) == 0:
		named := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: w.key.Name}}
		named.SetGroupVersionKind(w.kind)
		return named, nil
	}
	return read, typed
}
