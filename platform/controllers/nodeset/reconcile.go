package nodeset

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/slurmcontroller"
)

// lookAgain is the delay before the next reconcile if the cache was stale. An event is not enough, because a predicate
// may drop the event that updates the stale object.
const lookAgain = time.Second

type nodeSets struct {
	client  client.Client // reads from the cache
	live    client.Reader
	applier *apply.Applier
	updater *update.Updater
	events  events.EventRecorder
}

// Reconcile creates, corrects and deletes pods of one NodeSet, and writes its status. See the package comment.
func (n nodeSets) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	seen, err := n.look(ctx, n.client, request.NamespacedName)
	if err != nil || !wantsPods(seen.set) {
		return reconciler.Requeue(ctx, client.IgnoreNotFound(err))
	}
	var pods corev1.PodList
	err = n.client.List(ctx, &pods, client.InNamespace(request.Namespace), client.MatchingFields{setIndex: request.Name})
	if err != nil {
		return reconciler.Requeue(ctx, err)
	}
	d := decide(seen.told(), pods.Items, time.Now())
	if !d.idle() {
		if still, err := n.stillSo(ctx, seen); err != nil || !still {
			return requeue(ctx, lookAgain, err)
		}
	}
	done := n.carryOut(ctx, seen.told(), d)
	err = n.writeStatus(ctx, seen, d, done)
	return requeue(ctx, done.after(d), append(done.errs, err)...)
}

// requeue returns the result of reconciler.Requeue for the given errors. If there is no error and after is not 0, the
// next reconcile starts after this delay at the latest.
func requeue(ctx context.Context, after time.Duration, errs ...error) (reconcile.Result, error) {
	result, err := reconciler.Requeue(ctx, errs...)
	if err == nil && after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	return result, err
}

func wantsPods(set *v1alpha1.NodeSet) bool {
	return set.DeletionTimestamp == nil && set.Annotations[reconciler.PausedAnnotation] != "true"
}

// view contains a NodeSet and the address of its SlurmController, as read by one reconcile.
type view struct {
	set     *v1alpha1.NodeSet
	address string // HOST:PORT of slurmctld; "" if there is none, or if it is not known yet
}

// told returns a copy of the NodeSet. In the copy, status.controllerAddress is the address in the view. The functions
// that compute the writes read the address from this field.
func (v view) told() *v1alpha1.NodeSet {
	set := v.set.DeepCopy()
	set.Status.ControllerAddress = v.address
	return set
}

// look reads a NodeSet and the address of its SlurmController, with reader (the cache or the API server).
func (n nodeSets) look(ctx context.Context, reader client.Reader, key types.NamespacedName) (view, error) {
	set := &v1alpha1.NodeSet{}
	if err := reader.Get(ctx, key, set); err != nil {
		return view{}, err
	}
	address, err := controllerAddress(ctx, reader, set)
	return view{set, address}, err
}

// controllerAddress returns the address of the slurmctld of a NodeSet, or "" if the address is not known
// yet. While the SlurmController or its Service does not exist, it returns the address in the NodeSet's
// status. So the pods are not replaced if the SlurmController or the Service is deleted and created again.
func controllerAddress(ctx context.Context, reader client.Reader, set *v1alpha1.NodeSet) (string, error) {
	name := set.Spec.ControllerName
	if name == "" {
		return "", nil
	}
	service := slurmcontroller.ServiceName(name)
	host := service + "." + set.Namespace + ".svc"
	var controller v1alpha1.SlurmController
	err := reader.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, &controller)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return "", err
	case err == nil && controller.Status.ServiceName == service:
		return net.JoinHostPort(host, strconv.Itoa(int(controller.Spec.Port))), nil
	case isAddressOf(host, set.Status.ControllerAddress):
		return set.Status.ControllerAddress, nil
	}
	return "", nil
}

// isAddressOf reports whether an address consists of the given host and a port. The address in the NodeSet's status is
// checked because other clients may have written it, and because it becomes an environment variable of the pods.
func isAddressOf(host, address string) bool {
	port, ok := strings.CutPrefix(address, host+":")
	_, err := strconv.ParseUint(port, 10, 16)
	return ok && err == nil
}

// stillSo reports whether the writes that were computed from the cached NodeSet are still valid. A live read must
// return the same uid, generation and controller address, and the NodeSet must be neither paused nor being deleted.
func (n nodeSets) stillSo(ctx context.Context, seen view) (bool, error) {
	live, err := n.look(ctx, n.live, client.ObjectKeyFromObject(seen.set))
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return live.set.UID == seen.set.UID && live.set.Generation == seen.set.Generation &&
		live.address == seen.address && wantsPods(live.set), nil
}
