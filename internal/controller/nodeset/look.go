package nodeset

import (
	"context"
	"net"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/internal/controller/slurmcontroller"
)

// view is what is decided upon, apart from the pods.
type view struct {
	set     *v1alpha1.NodeSet
	address string // of slurmctld, "" for none or none yet
}

// told returns the NodeSet with the controller's address, as decide and podIntent need it.
func (v view) told() *v1alpha1.NodeSet {
	set := v.set.DeepCopy()
	set.Status.ControllerAddress = v.address
	return set
}

// look reads the NodeSet and the address of its controller, both by one reader.
func (n nodeSets) look(ctx context.Context, reader client.Reader, key types.NamespacedName) (view, error) {
	set := &v1alpha1.NodeSet{}
	if err := reader.Get(ctx, key, set); err != nil {
		return view{}, err
	}
	address, err := controllerAddress(ctx, reader, set)
	return view{set, address}, err
}

// controllerAddress returns the address that is known from before where the
// SlurmController does not exist: the pods run on while it is made anew.
func controllerAddress(ctx context.Context, reader client.Reader, set *v1alpha1.NodeSet) (string, error) {
	name := set.Spec.ControllerName
	if name == "" {
		return "", nil
	}
	host := slurmcontroller.ServiceName(name) + "." + set.Namespace + ".svc"
	var controller v1alpha1.SlurmController
	err := reader.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, &controller)
	switch {
	case err == nil:
		return net.JoinHostPort(host, strconv.Itoa(int(controller.Spec.Port))), nil
	case !apierrors.IsNotFound(err):
		return "", err
	case strings.HasPrefix(set.Status.ControllerAddress, host+":"):
		return set.Status.ControllerAddress, nil
	}
	return "", nil
}

// stillSo reports whether what was decided upon still holds, read past the cache.
func (n nodeSets) stillSo(ctx context.Context, seen view) (bool, error) {
	live, err := n.look(ctx, n.live, client.ObjectKeyFromObject(seen.set))
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return live.set.UID == seen.set.UID && live.set.Generation == seen.set.Generation &&
		live.address == seen.address && wantsPods(live.set), nil
}
