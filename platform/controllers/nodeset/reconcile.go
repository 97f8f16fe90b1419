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

// lookAgain is the time until the next reconcile if the cache was stale. The event that updates the
// cache may be filtered by a predicate, and so not start a reconcile.
const lookAgain = time.Second

type nodeSets struct {
	client  client.Client // reads from the cache
	live    client.Reader
	applier *apply.Applier
	updater *update.Updater
	events  events.EventRecorder
}

// Reconcile brings the pods of one NodeSet towards the desired state: see the package comment.
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

// requeue returns the result of reconciler.Requeue for errs. If there is no error, and after is not
// 0, it limits RequeueAfter to after.
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

// view is the input of decide, except the pods: a NodeSet and the address of its SlurmController.
type view struct {
	set     *v1alpha1.NodeSet
	address string // HOST:PORT of slurmctld; "" if there is none, or if it is not known yet
}

// told returns a copy of the NodeSet whose status.controllerAddress is the view's address. decide
// and podIntent read the address there.
func (v view) told() *v1alpha1.NodeSet {
	set := v.set.DeepCopy()
	set.Status.ControllerAddress = v.address
	return set
}

// look reads the NodeSet and the address of its SlurmController with reader.
func (n nodeSets) look(ctx context.Context, reader client.Reader, key types.NamespacedName) (view, error) {
	set := &v1alpha1.NodeSet{}
	if err := reader.Get(ctx, key, set); err != nil {
		return view{}, err
	}
	address, err := controllerAddress(ctx, reader, set)
	return view{set, address}, err
}

// controllerAddress returns the address of slurmctld, or "" if it is not known yet. If the SlurmController
// does not exist, or has no status.serviceName because its Service does not exist, the address in the
// NodeSet's status is kept. So the pods keep running while the SlurmController or its Service is recreated.
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

// isAddressOf reports whether an address consists of this host and a port. The check is needed because
// other clients may write the NodeSet's status, and the pods get the address in their environment.
func isAddressOf(host, address string) bool {
	port, ok := strings.CutPrefix(address, host+":")
	_, err := strconv.ParseUint(port, 10, 16)
	return ok && err == nil
}

// stillSo reports whether a live read returns a NodeSet with the uid, generation and controller
// address in seen, which is neither being deleted nor paused.
func (n nodeSets) stillSo(ctx context.Context, seen view) (bool, error) {
	live, err := n.look(ctx, n.live, client.ObjectKeyFromObject(seen.set))
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return live.set.UID == seen.set.UID && live.set.Generation == seen.set.Generation &&
		live.address == seen.address && wantsPods(live.set), nil
}
