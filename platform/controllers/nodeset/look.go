package nodeset

import (
	"context"
	"net"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/slurmcontroller"
)

// view is the input of a decision besides the pods.
type view struct {
	set     *v1alpha1.NodeSet
	address string // of slurmctld; "" for none, or none yet
}

// told returns the NodeSet with the controller's address in its status, as decide and podIntent
// need it.
func (v view) told() *v1alpha1.NodeSet {
	set := v.set.DeepCopy()
	set.Status.ControllerAddress = v.address
	return set
}

// look reads the NodeSet and the address of its controller, both by reader.
func (n nodeSets) look(ctx context.Context, reader client.Reader, key types.NamespacedName) (view, error) {
	set := &v1alpha1.NodeSet{}
	if err := reader.Get(ctx, key, set); err != nil {
		return view{}, err
	}
	address, err := controllerAddress(ctx, reader, set)
	return view{set, address}, err
}

// controllerAddress returns the address of slurmctld, "" if it is not known yet. A
// SlurmController whose Service is somebody else's reports no serviceName: pods are not sent
// there. The address known from before is kept: the pods run on while the SlurmController or
// its Service is made anew.
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

// isAddressOf reports whether an address is this host with a port. The address goes from the
// status, to which others may write, into the pods' environment.
func isAddressOf(host, address string) bool {
	port, ok := strings.CutPrefix(address, host+":")
	_, err := strconv.ParseUint(port, 10, 16)
	return ok && err == nil
}

// stillSo reports whether a live read shows the same view.
func (n nodeSets) stillSo(ctx context.Context, seen view) (bool, error) {
	live, err := n.look(ctx, n.live, client.ObjectKeyFromObject(seen.set))
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return live.set.UID == seen.set.UID && live.set.Generation == seen.set.Generation &&
		live.address == seen.address && wantsPods(live.set), nil
}
