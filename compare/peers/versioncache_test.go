package peers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/workloads/deployment"
)

// versions follows the idea of Cluster API's internal/util/ssa, which cannot be imported: an intent that was applied to an
// object is not applied again as long as the resourceVersion of the object stays the same. Any other write changes it.
type versions struct{ applied cache.Store }

func newVersions() versions {
	itself := func(key any) (string, error) { return key.(string), nil }
	return versions{cache.NewTTLStore(itself, 10*time.Minute)}
}

// has returns the key of an intent for a version of its object, and whether the intent was applied to this version.
func (v versions) has(wanted *appsv1ac.DeploymentApplyConfiguration, version string) (key string, applied bool, err error) {
	raw, err := json.Marshal(wanted)
	if err != nil {
		return "", false, err
	}
	key = fmt.Sprintf("%s.%s.%s.%s.%x", deployment.Kind, *wanted.Namespace, *wanted.Name, version, sha256.Sum256(raw))
	_, applied, err = v.applied.GetByKey(key)
	return key, applied, err
}

func versionCache(w *world) (reconcileFunc, error) {
	v := newVersions()
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		live := &appsv1.Deployment{}
		err := w.cached.Get(ctx, types.NamespacedName{Namespace: *wanted.Namespace, Name: *wanted.Name}, live)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if _, applied, err := v.has(wanted, live.ResourceVersion); applied || err != nil {
			return err
		}
		sent, err := deployment.Unstructured(wanted)
		if err != nil {
			return err
		}
		config := client.ApplyConfigurationFromUnstructured(sent) // the response is decoded into sent
		if err := w.cached.Apply(ctx, config, client.FieldOwner(measured), client.ForceOwnership); err != nil {
			return err
		}
		key, _, err := v.has(wanted, sent.GetResourceVersion())
		if err != nil {
			return err
		}
		return v.applied.Add(key)
	}, nil
}
