package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
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
