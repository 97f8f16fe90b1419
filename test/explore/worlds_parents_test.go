package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
)

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
			return fmt.Errorf("the child has %d replicas and the owner references %v; the parent wants %s replicas and has the uid %s", replicas, owners, wanted, parent.GetUID())
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

// prunings are the worlds with a Reconciler that prunes. The parent wants a child if the parent's data has "replicas".
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
	// before creates the parent and reconciles it twice: first to add the finalizer, then to apply the child.
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
		for _, suffix := range []string{"", ", without faults"} { // without faults, the search reaches longer schedules
			all = append(all, &World{
				Name: "pruning against " + title + suffix, Objects: []string{"shop", "web"}, Before: before, Lag: 3, Faults: suffix == "", After: after,
				Actors: []Actor{reconciling, {Name: "U", Process: "u", Once: true, Do: func(ctx context.Context, self *Self) error { return others[title](ctx, self.Client(), self) }}},
			})
		}
	}
	return all
}
