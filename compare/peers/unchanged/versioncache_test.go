package unchanged

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/workloads/deployment"
)

// Versions is after the idea of Cluster API's internal/util/ssa, which cannot be imported: an intent that was applied
// to an object is not applied again while the object's resourceVersion stays what it was. Each write of anyone else
// changes that.
type Versions struct{ known cache.Store }

const forgottenAfter = 10 * time.Minute

// NewVersions returns one that knows nothing.
func NewVersions() Versions {
	itself := func(key any) (string, error) { return key.(string), nil }
	return Versions{cache.NewTTLStore(itself, forgottenAfter)}
}

// key is of one intent for one version of an object.
func (Versions) key(wanted *appsv1ac.DeploymentApplyConfiguration, name types.NamespacedName, version string) (string, error) {
	raw, err := json.Marshal(wanted)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s.%s.%s.%x", deployment.Kind, name, version, sha256.Sum256(raw)), nil
}

func (v Versions) has(key string) bool {
	_, found, err := v.known.GetByKey(key)
	return found && err == nil
}

// Knows says whether the intent was applied to this very version of the object.
func (v Versions) Knows(wanted *appsv1ac.DeploymentApplyConfiguration, live *appsv1.Deployment) (bool, error) {
	key, err := v.key(wanted, client.ObjectKeyFromObject(live), live.ResourceVersion)
	return err == nil && v.has(key), err
}

func versionCache(p Process) (Reconcile, error) {
	v := NewVersions()
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		name := types.NamespacedName{Namespace: *wanted.Namespace, Name: *wanted.Name}
		live := &appsv1.Deployment{}
		if err := p.Client.Get(ctx, name, live); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		key, err := v.key(wanted, name, live.ResourceVersion)
		if err != nil || v.has(key) {
			return err
		}
		sent, err := deployment.Unstructured(wanted)
		if err != nil {
			return err
		}
		config := client.ApplyConfigurationFromUnstructured(sent) // which takes the answer
		if err := p.Client.Apply(ctx, config, client.FieldOwner(p.Manager), client.ForceOwnership); err != nil {
			return err
		}
		if key, err = v.key(wanted, name, sent.GetResourceVersion()); err != nil {
			return err
		}
		return v.known.Add(key)
	}, nil
}
