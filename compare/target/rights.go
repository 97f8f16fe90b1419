package target

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/platform/api/v1alpha1"
)

// verbs lists the verbs of requests that arms and workloads send.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// namespacedRules returns the rights of the benchmark's user in the run's namespace.
func (t *Target) namespacedRules(ctx context.Context) ([]rbacv1.PolicyRule, error) {
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "pods", "services"}, Verbs: verbs},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets"}, Verbs: verbs},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: verbs},
	}
	group := v1alpha1.SchemeGroupVersion.Group
	err := t.set.Discovery().RESTClient().Get().AbsPath("/apis", group).Do(ctx).Error()
	switch {
	case apierrors.IsNotFound(err): // the CustomResourceDefinition is not installed
	case err != nil:
		return nil, fmt.Errorf("asking the API server whether it has the kind Devbox: %w", err)
	default:
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{group}, Resources: []string{"devboxes", "devboxes/status"}, Verbs: verbs,
		})
	}
	return rules, nil
}

// clusterRules are the cluster-wide rights of the benchmark's user on a local control plane. Elsewhere, the user has none.
var clusterRules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces", "nodes"}, Verbs: verbs},
}

// checkRights returns an error that lists the rights that a run needs and that the current user lacks. A run needs
// all rights of the benchmark's user, because Kubernetes lets nobody grant rights that they do not have.
func (t *Target) checkRights(ctx context.Context) error {
	needed, err := t.namespacedRules(ctx)
	if err != nil {
		return err
	}
	own := []string{"get", "create", "delete"}
	needed = append(needed,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "serviceaccounts"}, Verbs: own},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}, Verbs: own})
	var missing []string
	for _, rule := range needed {
		for _, resource := range rule.Resources {
			lacks, err := t.missingVerbs(ctx, rule.APIGroups[0], resource, rule.Verbs)
			if err != nil {
				return err
			}
			if len(lacks) > 0 {
				missing = append(missing, strings.Join(lacks, ", ")+" "+strings.TrimSuffix(resource+"."+rule.APIGroups[0], "."))
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("you lack rights on this cluster that the benchmark needs: in a new namespace you may not %s",
			strings.Join(missing, "; "))
	}
	return nil
}

func (t *Target) missingVerbs(ctx context.Context, group, resource string, verbs []string) ([]string, error) {
	resource, subresource, _ := strings.Cut(resource, "/")
	var missing []string
	for _, verb := range verbs {
		attributes := &authorizationv1.ResourceAttributes{
			Namespace: t.namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
		}
		if resource == "namespaces" {
			attributes.Namespace = ""
		}
		allowed, err := t.mayI(ctx, attributes)
		if err != nil {
			return nil, err
		}
		if !allowed {
			missing = append(missing, verb)
		}
	}
	return missing, nil
}

func (t *Target) mayI(ctx context.Context, attributes *authorizationv1.ResourceAttributes) (bool, error) {
	review, err := t.set.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking the API server for your rights on this cluster: %w", err)
	}
	return review.Status.Allowed, nil
}
