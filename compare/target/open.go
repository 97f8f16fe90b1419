package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
)

const (
	// This label is on all objects that a run creates.
	managedByLabel, managedBy = "app.kubernetes.io/managed-by", "coapply-compare"
	// account is the name of the service account under which arms write.
	account = "writer"
	// tokenLife is the lifetime of the service account's token. It is longer than any run. A long lifetime is
	// no risk: the token becomes invalid when the service account is deleted at the end of the run.
	tokenLife = 24 * time.Hour
	// readyTimeout is the time limit for waiting until the service account has its rights and the namespace can be used.
	readyTimeout = 20 * time.Second
)

// newTarget returns a Target with its clients. It sends no requests.
func newTarget(admin *rest.Config, log io.Writer) (*Target, error) {
	admin = rest.CopyConfig(admin)
	unhindered(admin)
	t := &Target{admin: admin, namespace: "compare-" + rand.String(8), log: log}
	var err error
	if t.http, err = rest.HTTPClientFor(admin); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if t.set, err = kubernetes.NewForConfigAndClient(admin, t.http); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if t.client, err = client.New(admin, client.Options{HTTPClient: t.http}); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return t, nil
}

// opened creates the objects that a run needs, and returns the Target. If this fails, it deletes the objects that were created.
func (t *Target) opened(ctx context.Context) (*Target, error) {
	if err := t.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing the benchmark: %w", err), t.Close(ctx))
	}
	return t, nil
}

func (t *Target) open(ctx context.Context) error {
	fmt.Fprintln(t.log, "making the namespace", t.namespace)
	for _, object := range t.objects() {
		err := t.client.Create(ctx, object, client.FieldOwner(managedBy))
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) { // after another error, the object may exist
			t.created = append(t.created, object)
		}
		if err != nil {
			return fmt.Errorf("creating %T %s: %w", object, client.ObjectKeyFromObject(object), err)
		}
	}
	if err := t.newUser(ctx); err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := t.waitUsable(ready); err != nil {
		return err
	}
	t.several = t.manyServers(ctx)
	t.environment = t.describe(ctx)
	return nil
}

// objects returns the objects that a run needs, in the order in which they must be created. Only on a local control
// plane does the benchmark's user get cluster-wide rights.
func (t *Target) objects() []client.Object {
	rules := func(resources map[string][]string) (all []rbacv1.PolicyRule) {
		for group, names := range resources {
			all = append(all, rbacv1.PolicyRule{
				APIGroups: []string{group}, Resources: names,
				Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
			})
		}
		return all
	}
	namespaced := map[string][]string{
		"": {"configmaps", "pods", "services"}, "apps": {"deployments", "statefulsets"}, "discovery.k8s.io": {"endpointslices"},
	}
	if t.IsLocal() {
		namespaced[v1alpha1.SchemeGroupVersion.Group] = []string{"devboxes", "devboxes/status"}
	}
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{managedByLabel: managedBy}}
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.namespace, Name: account}}
	role := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: in("", t.namespace)},
		&corev1.ServiceAccount{ObjectMeta: in(t.namespace, account)},
		&rbacv1.Role{ObjectMeta: in(t.namespace, account), Rules: rules(namespaced)},
		&rbacv1.RoleBinding{ObjectMeta: in(t.namespace, account), RoleRef: role("Role", account), Subjects: subjects},
	}
	if t.IsLocal() {
		objects = append(objects,
			&rbacv1.ClusterRole{ObjectMeta: in("", t.namespace), Rules: rules(map[string][]string{"": {"namespaces", "nodes"}})},
			&rbacv1.ClusterRoleBinding{ObjectMeta: in("", t.namespace), RoleRef: role("ClusterRole", t.namespace), Subjects: subjects})
	}
	return objects
}

// newUser gets a token of the service account and makes the configuration of the benchmark's user from it. The
// API server accepts the token until the service account is deleted.
func (t *Target) newUser(ctx context.Context) error {
	seconds := int64(tokenLife.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	request, err := t.set.CoreV1().ServiceAccounts(t.namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("getting a token of the service account %s: %w", account, err)
	}
	if life := time.Until(request.Status.ExpirationTimestamp.Time).Round(time.Minute); life < tokenLife/2 {
		fmt.Fprintf(t.log, "the cluster limits tokens to %v: a longer run fails\n", life)
	}
	t.user = rest.AnonymousClientConfig(t.admin)
	t.user.BearerToken = request.Status.Token
	unhindered(t.user)
	return nil
}

// unhindered switches the client-side rate limit off, and sets the encoding of all requests to JSON. By default,
// clients would use Protocol Buffers for some kinds, but JSON for every apply.
func unhindered(config *rest.Config) {
	config.QPS, config.UserAgent = -1, managedBy
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
}

// waitUsable waits until the service account has its rights. On a local control plane it also waits until the
// namespace has its default service account, because before that every pod is rejected.
func (t *Target) waitUsable(ctx context.Context) error {
	user, err := kubernetes.NewForConfig(t.user)
	if err != nil {
		return fmt.Errorf("making a client for the service account: %w", err)
	}
	missing := "the service account's rights"
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		missing = "the service account's rights"
		namespaced := &authorizationv1.ResourceAttributes{Namespace: t.namespace, Verb: "create", Resource: "configmaps"}
		allowed, err := may(ctx, user, namespaced)
		if err == nil && allowed && t.IsLocal() {
			allowed, err = may(ctx, user, &authorizationv1.ResourceAttributes{Verb: "create", Resource: "namespaces"})
		}
		if err != nil || !allowed || !t.IsLocal() {
			return allowed, err
		}
		missing = "the namespace's default service account"
		_, err = t.set.CoreV1().ServiceAccounts(t.namespace).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", missing, err)
	}
	return nil
}

func may(ctx context.Context, user kubernetes.Interface, do *authorizationv1.ResourceAttributes) (bool, error) {
	review, err := user.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: do},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking the API server for rights on this cluster: %w", err)
	}
	return review.Status.Allowed, nil
}
