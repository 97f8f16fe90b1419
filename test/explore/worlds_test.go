package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
)

// worlds are all worlds.
var worlds = concat(appliers(), foreigners(), updaters(), dropIns(), births(), []*World{handOver(), changesBack(), noSubresource()}, ownsNothing(), transfers(), reconcilers(), prunings())

func concat(all ...[]*World) (worlds []*World) {
	for _, some := range all {
		worlds = append(worlds, some...)
	}
	return worlds
}

var decisions = []apply.Decision{apply.Reject, apply.Force, apply.Relinquish, apply.Share}

func named(format string, values ...any) string {
	return strings.ToLower(fmt.Sprintf(format, values...))
}

// appliers are the worlds with two Appliers that disagree on the value of one field.
func appliers() (all []*World) {
	for i, first := range decisions {
		for _, second := range decisions[i:] {
			all = append(all, &World{
				Name: named("%v against %v", first, second), Lag: 3, Faults: true,
				Fights: first == apply.Force && second == apply.Force,
				Actors: []Actor{applier("A", "a", first, 1), applier("B", "b", second, 2)},
			})
		}
		all = append(all, &World{
			Name: named("%v against force, in one process", first), Lag: 3, Faults: true, Fights: first == apply.Force,
			Actors: []Actor{applier("A", "a", first, 1), applier("B", "a", apply.Force, 2)},
		})
	}
	return all
}

// applier is an actor that applies a number of replicas, and a field that nobody else has.
func applier(name, process string, decision apply.Decision, replicas int64) Actor {
	own := map[string]string{"A": "color", "B": "size"}[name]
	return Actor{Name: name, Process: process, Do: func(ctx context.Context, self *Self) error {
		return self.Apply(ctx, "manager-"+name, apply.OnConflict(decision), map[string]any{"replicas": replicas, own: name})
	}}
}

// existing creates the object of a manager that is not an actor.
func existing(ctx context.Context, c client.Client) error {
	object := newObject("", "web")
	object.Object["spec"] = map[string]any{"replicas": int64(3), "size": "small"}
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("creator"))
}

// foreigners are the worlds with an Applier and a writer without coapply.
func foreigners() (all []*World) {
	writers := map[string]func(context.Context, *Self) error{
		"a foreign PUT": func(ctx context.Context, self *Self) error {
			object := self.Widget(nil)
			if err := self.Manager.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			return errors.Join(unstructured.SetNestedField(object.Object, int64(5), "spec", "replicas"), self.Client().Update(ctx, object, client.FieldOwner("foreign")))
		},
		"a foreign forced apply": func(ctx context.Context, self *Self) error {
			return self.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(self.Widget(map[string]any{"replicas": int64(5)})), client.FieldOwner("foreign"), client.ForceOwnership)
		},
		"kubectl scale": func(ctx context.Context, self *Self) error {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`))
			return self.Client().SubResource("scale").Patch(ctx, self.Widget(nil), patch, client.FieldOwner("foreign"))
		},
		"a release":        release,
		"a foreign delete": func(ctx context.Context, self *Self) error { return self.Client().Delete(ctx, self.Widget(nil)) },
	}
	for _, decision := range decisions {
		for _, title := range []string{"a foreign PUT", "a foreign forced apply", "kubectl scale", "a release", "a foreign delete"} {
			all = append(all, &World{
				Name: named("%v against %s", decision, title), Before: existing, Lag: 3, Faults: true,
				Actors: []Actor{
					applier("A", "a", decision, 1),
					{Name: "F", Process: "f", Once: true, Changes: []string{".spec.replicas"}, Do: writers[title]},
				},
			})
		}
	}
	return all
}

// updaters are the worlds with an Applier and an Updater.
func updaters() (all []*World) {
	updater := func(process string) Actor {
		return Actor{Name: "U", Process: process, Changes: []string{".spec.replicas", ".spec.size"}, Do: func(ctx context.Context, self *Self) error {
			u, err := self.Runtime.Updater("updater")
			if err != nil {
				return err
			}
			cached := self.Widget(nil)
			if err := self.Client().Get(ctx, client.ObjectKeyFromObject(cached), cached); err != nil {
				return err
			}
			if _, err := update.EnsureFinalizer(ctx, u, cached, "explore.example.com/u"); err != nil {
				return err
			}
			_, err = update.Do(ctx, u, cached, func(o *unstructured.Unstructured) error {
				return unstructured.SetNestedField(o.Object, "large", "spec", "size")
			})
			return err
		}}
	}
	after := func(at func(string) *unstructured.Unstructured) error {
		object := at("web")
		size, _, _ := unstructured.NestedString(object.Object, "spec", "size")
		color, _, _ := unstructured.NestedString(object.Object, "spec", "color")
		if size != "large" || color != "A" || len(object.GetFinalizers()) != 1 {
			return fmt.Errorf("a write is lost: size %q, color %q, finalizers %v", size, color, object.GetFinalizers())
		}
		return nil
	}
	for _, process := range []string{"a", "u"} {
		for _, decision := range []apply.Decision{apply.Force, apply.Share} {
			all = append(all, &World{
				Name: named("%v beside an updater, %d processes", decision, map[string]int{"a": 1, "u": 2}[process]), Before: existing, Lag: 3, Faults: true, After: after,
				Actors: []Actor{{Name: "A", Process: "a", Do: func(ctx context.Context, self *Self) error {
					return self.Apply(ctx, "manager-A", apply.OnConflict(apply.Force).At(".spec.replicas", decision), map[string]any{"replicas": int64(1), "color": "A"})
				}}, updater(process)},
			})
		}
	}
	return all
}

// dropIns are the worlds with the drop-in client, which writes in other ways between two applies.
func dropIns() (all []*World) {
	fields := map[string]any{"replicas": int64(1), "color": "A"}
	between := map[string]func(context.Context, client.Client, *unstructured.Unstructured) error{
		"delete": func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
			return c.Delete(ctx, object)
		},
		"delete of all": func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
			return c.DeleteAllOf(ctx, object, client.InNamespace(object.GetNamespace()))
		},
		"patch": func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
			return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":7}}`)))
		},
		"update": func(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
			return errors.Join(unstructured.SetNestedField(object.Object, int64(7), "spec", "replicas"), c.Update(ctx, object))
		},
	}
	for _, title := range []string{"delete", "delete of all", "patch", "update"} {
		all = append(all, &World{
			Name: "drop-in client: apply, " + title + ", apply", Lag: 3, Faults: true,
			Actors: []Actor{
				{Name: "A", Process: "a", Changes: []string{".spec.replicas"}, Once: true, Do: func(ctx context.Context, self *Self) error {
					c := self.Runtime.Client("manager-A", apply.OnConflict(apply.Force).Func(self.actor.judge))
					for again := range 2 {
						object := self.Widget(fields)
						if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object)); err != nil {
							return err
						}
						self.Acknowledge("manager-A", fields, object)
						if again == 0 {
							if err := between[title](ctx, c, object); err != nil {
								return err
							}
							self.Wrote()
						}
					}
					return nil
				}},
				{Name: "F", Process: "f", Once: true, Changes: []string{".spec.replicas"}, Do: func(ctx context.Context, self *Self) error {
					object := self.Widget(map[string]any{"size": "small"})
					return self.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("foreign"))
				}},
			},
		})
	}
	return all
}

// births are the worlds in which the object does not exist at first, or is deleted and created again.
func births() []*World {
	const label = "explore.example.com/owner"
	ours := func(object client.Object) bool { return object.GetLabels()[label] == "A" }
	foreign := Actor{Name: "F", Process: "f", Once: true, Do: func(ctx context.Context, self *Self) error {
		object := self.Widget(map[string]any{"size": "small"})
		if err := self.Client().Create(ctx, object, client.FieldOwner("foreign")); err != nil {
			return err
		}
		if err := self.Client().Delete(ctx, object); err != nil {
			return err
		}
		return self.Client().Create(ctx, self.Widget(map[string]any{"size": "small"}), client.FieldOwner("foreign"))
	}}
	return []*World{
		{
			Name: "exclusive creation against a foreign object", Lag: 3, Faults: true,
			Actors: []Actor{{
				Name: "A", Process: "a",
				Applies: func(object *unstructured.Unstructured) bool { return object == nil || ours(object) },
				Do: func(ctx context.Context, self *Self) error {
					return self.Apply(ctx, "manager-A", apply.OnConflict(apply.Force), map[string]any{"replicas": int64(1)}, func(i *apply.Intent) {
						object := self.Widget(map[string]any{"replicas": int64(1)})
						object.SetLabels(map[string]string{label: "A"})
						i.Config, i.Belongs = client.ApplyConfigurationFromUnstructured(object), ours
					})
				},
			}, foreign},
		},
		{
			Name: "must exist, against delete and recreate", Lag: 3, Faults: true, Before: existing,
			Actors: []Actor{{
				Name: "A", Process: "a",
				Applies: func(object *unstructured.Unstructured) bool { return object != nil },
				Do: func(ctx context.Context, self *Self) error {
					return self.Apply(ctx, "manager-A", apply.OnConflict(apply.Force), map[string]any{"replicas": int64(1)}, func(i *apply.Intent) { i.MustExist = true })
				},
			}, {Name: "F", Process: "f", Once: true, Do: func(ctx context.Context, self *Self) error {
				if err := self.Client().Delete(ctx, self.Widget(nil)); err != nil {
					return err
				}
				return self.Client().Create(ctx, self.Widget(map[string]any{"replicas": int64(9)}), client.FieldOwner("foreign"))
			}}},
		},
	}
}

// handOver is the world in which an old leader and a new leader write at once, as one field manager.
func handOver() *World {
	leader := func(name string, replicas int64, once bool) Actor {
		return Actor{Name: name, Process: strings.ToLower(name), Once: once, Do: func(ctx context.Context, self *Self) error {
			return self.Apply(ctx, "manager", apply.OnConflict(apply.Force), map[string]any{"replicas": replicas})
		}}
	}
	return &World{
		Name: "hand-over of the lease", Before: existing, Lag: 3, Faults: true,
		Actors: []Actor{leader("A", 1, true), leader("B", 2, false)},
		After: func(at func(string) *unstructured.Unstructured) error {
			if replicas, _, _ := unstructured.NestedInt64(at("web").Object, "spec", "replicas"); replicas != 2 {
				return fmt.Errorf("%d replicas, and not those of the new leader", replicas)
			}
			return nil
		},
	}
}

// ownsNothing are the worlds of an Applier that relinquishes all that it wants, and so owns nothing.
func ownsNothing() (all []*World) {
	writers := map[string]func(context.Context, *Self) error{
		"": func(ctx context.Context, self *Self) error {
			return self.Client().Patch(ctx, self.Widget(nil), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`)), client.FieldOwner("foreign"))
		},
		", against two writes": func(ctx context.Context, self *Self) error { // the first makes the cache stale
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
			if err := self.Client().Patch(ctx, self.Widget(nil), patch, client.FieldOwner("foreign")); err != nil {
				return err
			}
			return release(ctx, self)
		},
	}
	for _, title := range slices.Sorted(maps.Keys(writers)) {
		all = append(all, &World{
			Name: "an applier that relinquishes all" + title, Before: existing, Lag: 3, Faults: true,
			Actors: []Actor{
				{Name: "A", Process: "a", Do: func(ctx context.Context, self *Self) error {
					return self.Apply(ctx, "manager", apply.OnConflict(apply.Relinquish), map[string]any{"replicas": int64(1)})
				}},
				{Name: "F", Process: "f", Once: true, Changes: []string{".spec.replicas"}, Do: writers[title]},
			},
		})
	}
	return all
}

// release gives up the replicas of the object that existing creates.
func release(ctx context.Context, self *Self) error {
	return self.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(self.Widget(map[string]any{"size": "small"})), client.FieldOwner("creator"))
}

// changesBack is the world of one Applier whose intent changes, and changes back before the cache shows it.
func changesBack() *World {
	return &World{
		Name: "an intent that changes back", Lag: 3, Faults: true,
		Actors: []Actor{{Name: "A", Process: "a", Once: true, Do: func(ctx context.Context, self *Self) error {
			for _, replicas := range []int64{1, 2, 1} {
				if err := self.Apply(ctx, "manager", apply.OnConflict(apply.Reject), map[string]any{"replicas": replicas}); err != nil {
					return err
				}
			}
			return nil
		}}},
	}
}

// noSubresource is the world of an apply to a subresource that the kind does not have: the API server answers 404 although
// the object exists.
func noSubresource() *World {
	return &World{
		Name: "a subresource that the kind lacks", Before: existing, Lag: 3, Faults: true,
		Actors: []Actor{
			{Name: "A", Process: "a", Do: func(ctx context.Context, self *Self) error {
				return self.Apply(ctx, "manager", apply.OnConflict(apply.Reject), nil, func(i *apply.Intent) {
					object := self.Widget(nil)
					object.Object["status"] = map[string]any{"ready": "yes"}
					i.Config, i.Subresource = client.ApplyConfigurationFromUnstructured(object), "ready"
				})
			}},
			{Name: "F", Process: "f", Once: true, Changes: []string{".spec.replicas"}, Do: func(ctx context.Context, self *Self) error {
				return self.Client().Patch(ctx, self.Widget(nil), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`)), client.FieldOwner("foreign"))
			}},
		},
	}
}

// transfers are the worlds in which an actor moves the owners of fields, or gives fields up, against a foreign writer.
func transfers() (all []*World) {
	foreign := Actor{Name: "F", Process: "f", Once: true, Changes: []string{".spec.replicas"}, Do: func(ctx context.Context, self *Self) error {
		return self.Client().Patch(ctx, self.Widget(nil), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`)), client.FieldOwner("foreign"))
	}}
	ref := func(self *Self) apply.ObjectRef {
		return apply.ObjectRef{GroupVersionKind: widgetKind, NamespacedName: client.ObjectKeyFromObject(self.Widget(nil))}
	}
	created := func(ctx context.Context, c client.Client) error {
		object := newObject("", "web")
		object.Object["spec"] = map[string]any{"replicas": int64(3), "size": "small"}
		return c.Create(ctx, object, client.FieldOwner("creator"))
	}
	for _, title := range []string{"migrate", "rename", "migrate and undo", "release"} {
		world := &World{Name: title + " against a foreign patch", Before: created, Lag: 3, Faults: true}
		if title == "rename" || title == "release" {
			world.Before = existing // by an apply
		}
		world.Actors = []Actor{{Name: "A", Process: "a", TakesFrom: "creator", Once: true, Do: func(ctx context.Context, self *Self) error {
			manager := "manager-A"
			if title == "release" {
				manager = "co-owner"
			}
			applier, err := self.Applier(manager, apply.OnConflict(apply.Reject))
			if err != nil {
				return err
			}
			var transfer *ownership.Transfer
			switch title {
			case "release":
				_, err = ownership.Release(ctx, applier, ref(self))
				return err
			case "rename":
				transfer, err = ownership.Rename(ctx, applier, ref(self), ownership.From{Manager: "creator"})
			default:
				transfer, err = ownership.Migrate(ctx, applier, ref(self), ownership.From{Manager: "creator"})
			}
			if err != nil {
				return err
			}
			undo, err := transfer.Do(ctx)
			if err == nil && title == "migrate and undo" {
				_, err = undo.Do(ctx)
			}
			return err
		}}, foreign}
		if title == "release" {
			world.Before = func(ctx context.Context, c client.Client) error {
				object := newObject("", "web")
				object.Object["spec"] = map[string]any{"replicas": int64(3)}
				return errors.Join(existing(ctx, c), c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("co-owner")))
			}
		}
		all = append(all, world)
	}
	return all
}

// reconcilers are the worlds with a Reconciler of a parent and a child.
func reconcilers() []*World {
	shop := func(replicas string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Data: map[string]string{"replicas": replicas}}
	}
	before := func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, shop("2"), client.FieldOwner("user"))
	}
	reconciling := Actor{Name: "R", Process: "r", Polls: true, Do: func(ctx context.Context, self *Self) error {
		applier, err := self.Applier("manager-R", apply.OnConflict(apply.Force))
		if err != nil {
			return err
		}
		r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{
			Client: self.Client(), Applier: applier,
			Emit: func(parent *corev1.ConfigMap) ([]apply.Intent, error) {
				replicas, err := strconv.ParseInt(parent.Data["replicas"], 10, 64)
				child := self.Widget(map[string]any{"replicas": replicas})
				child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: parent.Name, UID: parent.UID, Controller: new(true)}})
				return []apply.Intent{{Config: client.ApplyConfigurationFromUnstructured(child)}}, err
			},
		})
		if err != nil {
			return err
		}
		request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: self.Widget(nil).GetNamespace(), Name: "shop"}}
		for range 2 {
			_, _ = r.Reconcile(ctx, request) // the next round retries after an error
			if err := self.Pause(ctx); err != nil {
				return err
			}
		}
		return nil
	}}
	// garbage deletes a child whose parent is gone, as the garbage collector does.
	garbage := Actor{Name: "G", Process: "g", Polls: true, Do: func(ctx context.Context, self *Self) error {
		live, child, parent := self.Manager.GetAPIReader(), self.Widget(nil), &corev1.ConfigMap{}
		if err := live.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
			return client.IgnoreNotFound(err)
		}
		err := live.Get(ctx, client.ObjectKey{Namespace: child.GetNamespace(), Name: "shop"}, parent)
		if client.IgnoreNotFound(err) != nil || len(child.GetOwnerReferences()) > 0 && parent.UID == child.GetOwnerReferences()[0].UID {
			return client.IgnoreNotFound(err)
		}
		return client.IgnoreNotFound(self.Client().Delete(ctx, child, client.Preconditions{UID: new(child.GetUID())}))
	}}
	after := func(at func(string) *unstructured.Unstructured) error {
		parent, child := at("shop"), at("web")
		switch {
		case parent == nil && child == nil:
			return nil
		case parent == nil || child == nil:
			return fmt.Errorf("the parent exists: %v, the child exists: %v", parent != nil, child != nil)
		}
		wanted, _, _ := unstructured.NestedString(parent.Object, "data", "replicas")
		replicas, _, _ := unstructured.NestedInt64(child.Object, "spec", "replicas")
		if owners := child.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != parent.GetUID() || strconv.FormatInt(replicas, 10) != wanted {
			return fmt.Errorf("the child has %d replicas and the owners %v, the parent wants %s and is %s", replicas, owners, wanted, parent.GetUID())
		}
		return nil
	}
	return []*World{
		{
			Name: "a reconciler against drift of the child", Objects: []string{"shop", "web"}, Before: before, Lag: 3, Faults: true, After: after,
			Actors: []Actor{reconciling, {Name: "F", Process: "f", Once: true, Changes: []string{".spec.replicas"}, Do: func(ctx context.Context, self *Self) error {
				if err := self.Client().Patch(ctx, self.Widget(nil), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`)), client.FieldOwner("foreign")); err != nil {
					return err
				}
				return self.Client().Delete(ctx, self.Widget(nil))
			}}},
		},
		{
			Name: "a reconciler against delete and recreate of the parent", Objects: []string{"shop", "web"}, Before: before, Lag: 3, Faults: true, After: after,
			Actors: []Actor{reconciling, garbage, {Name: "D", Process: "d", Once: true, Do: func(ctx context.Context, self *Self) error {
				parent := shop("4")
				parent.Namespace = self.Widget(nil).GetNamespace()
				if err := self.Client().Delete(ctx, parent.DeepCopy()); err != nil {
					return err
				}
				return self.Client().Create(ctx, parent, client.FieldOwner("user"))
			}}},
		},
	}
}

// prunings are the worlds with a Reconciler that prunes. The parent wants a child, unless it has no "replicas".
func prunings() (all []*World) {
	parent := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Data: map[string]string{"replicas": "2"}}
	}
	reconcileOnce := func(ctx context.Context, c client.Reader, applier *apply.Applier, updater *update.Updater, namespace string) error {
		r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{
			Client: c, Applier: applier, Updater: updater, Prune: true, Finalizer: "explore.example.com/prune",
			Emit: func(parent *corev1.ConfigMap) ([]apply.Intent, error) {
				if parent.Data["replicas"] == "" {
					return nil, nil
				}
				replicas, err := strconv.ParseInt(parent.Data["replicas"], 10, 64)
				child := newObject(parent.Namespace, "web")
				child.Object["spec"] = map[string]any{"replicas": replicas}
				return []apply.Intent{{Config: client.ApplyConfigurationFromUnstructured(child)}}, err
			},
		})
		if err != nil {
			return err
		}
		_, err = r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "shop"}})
		return err
	}
	// before creates the parent, and reconciles it until it has its finalizer and its child.
	before := func(ctx context.Context, c client.Client) error {
		shop := parent("")
		applier, err := apply.New(c, apply.Config{FieldManager: "manager-R", LiveReader: c})
		updater, unusable := update.New(update.Config{Client: c, LiveReader: c, FieldManager: "manager-R"})
		if err := errors.Join(err, unusable, c.Create(ctx, shop, client.FieldOwner("user"))); err != nil {
			return err
		}
		return errors.Join(reconcileOnce(ctx, c, applier, updater, shop.Namespace), reconcileOnce(ctx, c, applier, updater, shop.Namespace))
	}
	wants := func(parent *unstructured.Unstructured) string {
		if parent == nil || parent.GetDeletionTimestamp() != nil {
			return ""
		}
		replicas, _, _ := unstructured.NestedString(parent.Object, "data", "replicas")
		return replicas
	}
	foreign := func(child *unstructured.Unstructured) bool {
		_, found, _ := unstructured.NestedString(child.Object, "spec", "size")
		return found
	}
	reconciling := Actor{
		Name: "R", Process: "r", Polls: true,
		Deletes: func(object *unstructured.Unstructured, parents []*unstructured.Unstructured) bool {
			return object.GetName() == "shop" || !foreign(object) && slices.ContainsFunc(parents, func(p *unstructured.Unstructured) bool { return wants(p) == "" })
		},
		Do: func(ctx context.Context, self *Self) error {
			applier, err := self.Applier("manager-R", apply.OnConflict(apply.Force))
			updater, unusable := self.Runtime.Updater("manager-R")
			if err := errors.Join(err, unusable); err != nil {
				return err
			}
			self.Begin()
			return reconcileOnce(ctx, self.Client(), applier, updater, self.Widget(nil).GetNamespace())
		},
	}
	after := func(at func(string) *unstructured.Unstructured) error {
		wanted, replicas := wants(at("shop")), ""
		if child := at("web"); child != nil && !foreign(child) {
			number, _, _ := unstructured.NestedInt64(child.Object, "spec", "replicas")
			replicas = strconv.FormatInt(number, 10)
		} else if child != nil {
			replicas = wanted // a foreign child stays as it is
		}
		if replicas != wanted {
			return fmt.Errorf("the child has the replicas %q, the parent wants %q", replicas, wanted)
		}
		return nil
	}
	change := func(replicas string) client.Patch {
		return client.RawPatch(types.MergePatchType, []byte(`{"data":{"replicas":`+replicas+`}}`))
	}
	others := map[string]func(context.Context, client.Client, *Self) error{
		"an intent that comes back": func(ctx context.Context, c client.Client, self *Self) error {
			shop := parent(self.Widget(nil).GetNamespace())
			if err := c.Patch(ctx, shop, change("null"), client.FieldOwner("user")); err != nil {
				return err
			}
			return c.Patch(ctx, shop, change(`"3"`), client.FieldOwner("user"))
		},
		"a foreign child of the same name": func(ctx context.Context, c client.Client, self *Self) error {
			if err := c.Patch(ctx, parent(self.Widget(nil).GetNamespace()), change("null"), client.FieldOwner("user")); err != nil {
				return err
			}
			if err := c.Delete(ctx, self.Widget(nil)); client.IgnoreNotFound(err) != nil {
				return err
			}
			return c.Create(ctx, self.Widget(map[string]any{"size": "small"}), client.FieldOwner("foreign"))
		},
		"delete and recreate of the parent": func(ctx context.Context, c client.Client, self *Self) error {
			shop := parent(self.Widget(nil).GetNamespace())
			if err := c.Delete(ctx, shop); err != nil {
				return err
			}
			return c.Create(ctx, parent(shop.Namespace), client.FieldOwner("user")) // refused while the finalizer is there
		},
	}
	for _, title := range slices.Sorted(maps.Keys(others)) {
		for _, suffix := range []string{"", ", without faults"} { // the second is small enough to be explored completely
			all = append(all, &World{
				Name: "pruning against " + title + suffix, Objects: []string{"shop", "web"}, Before: before, Lag: 3, Faults: suffix == "", After: after,
				Actors: []Actor{reconciling, {Name: "U", Process: "u", Once: true, Do: func(ctx context.Context, self *Self) error { return others[title](ctx, self.Client(), self) }}},
			})
		}
	}
	return all
}
