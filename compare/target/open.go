package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
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
	// readyTimeout is the time limit for waiting until the service account has its rights.
	readyTimeout = 20 * time.Second
)

// newTarget returns a Target with its clients. It sends no requests.
func newTarget(admin *rest.Config, log io.Writer) (*Target, error) {
	admin = rest.CopyConfig(admin)
	unhindered(admin)
	t := &Target{admin: admin, namespace: "compare-" + rand.String(8), log: log}
	var err error
	if t.http, err = rest.HTTPClientFor(admin); err == nil {
		t.client, err = client.New(admin, client.Options{HTTPClient: t.http})
	}
	if err != nil {
		return nil, fmt.Errorf("making a client for the API server: %w", err)
	}
	return t, nil
}

func (t *Target) serverVersion(ctx context.Context) (*version.Info, error) {
	server, err := discovery.NewDiscoveryClientForConfigAndClient(t.admin, t.http)
	if err != nil {
		return nil, err
	}
	return server.ServerVersionWithContext(ctx)
}

// opened creates the objects that a run needs, and returns the Target. If this fails, it deletes the objects that were created.
func (t *Target) opened(ctx context.Context) (*Target, error) {
	if err := t.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing the benchmark: %w", err), t.Close(ctx))
	}
	return t, nil
}

func (t *Target) open(ctx context.Context) error {
	fmt.Fprintln(t.log, "creating the namespace", t.namespace)
	for _, object := range t.objects() {
		err := t.client.Create(ctx, object, client.FieldOwner(managedBy))
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) { // after another error, the object may exist
			t.created = append(t.created, object)
		}
		if err != nil {
			return fmt.Errorf("creating %T %s: %w", object, client.ObjectKeyFromObject(object), err)
		}
	}
	user, err := t.newUser(ctx)
	if err != nil {
		return err
	}
	if err := t.waitUsable(ctx, user); err != nil {
		return fmt.Errorf("waiting for the rights of the service account: %w", err)
	}
	t.environment = t.describe(ctx, user)
	return nil
}

// objects returns the objects that a run needs, in the order in which they must be created. Only on a local control
// plane does the benchmark's user get cluster-wide rights.
func (t *Target) objects() []client.Object {
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{managedByLabel: managedBy}}
	}
	rules := []rbacv1.PolicyRule{{
		APIGroups: []string{corev1.GroupName, appsv1.GroupName, v1alpha1.SchemeGroupVersion.Group},
		Resources: []string{"configmaps", "pods", "services", "deployments", "devboxes", "devboxes/status", "namespaces", "nodes"},
		Verbs:     []string{"get", "list", "watch", "create", "update", "patch", "delete"},
	}}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.namespace, Name: account}}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: in("", t.namespace)},
		&corev1.ServiceAccount{ObjectMeta: in(t.namespace, account)},
	}
	if t.IsLocal() {
		return append(objects,
			&rbacv1.ClusterRole{ObjectMeta: in("", t.namespace), Rules: rules},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: in("", t.namespace), Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: t.namespace},
			})
	}
	return append(objects,
		&rbacv1.Role{ObjectMeta: in(t.namespace, account), Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: in(t.namespace, account), Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		})
}

// newUser gets a token of the service account, and makes the configuration and a client of the benchmark's user with the
// token. The API server accepts the token until the service account is deleted.
func (t *Target) newUser(ctx context.Context) (client.Client, error) {
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: account}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife.Seconds()))}}
	if err := t.client.SubResource("token").Create(ctx, of, request); err != nil {
		return nil, fmt.Errorf("getting a token of the service account %s: %w", account, err)
	}
	t.user = rest.AnonymousClientConfig(t.admin)
	t.user.BearerToken = request.Status.Token
	unhindered(t.user)
	user, err := client.New(t.user, client.Options{Mapper: t.client.RESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("making a client for the service account: %w", err)
	}
	return user, nil
}

// unhindered switches the client-side rate limit off, and sets the encoding of all requests to JSON. By default,
// clients would use Protocol Buffers for some kinds, but JSON for every apply.
func unhindered(config *rest.Config) {
	config.QPS, config.UserAgent = -1, managedBy
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
}

// waitUsable waits until the service account has its rights: the API server needs a moment to see new roles.
func (t *Target) waitUsable(ctx context.Context, user client.Client) error {
	needed := &authorizationv1.ResourceAttributes{Namespace: t.namespace, Verb: "create", Resource: "configmaps"}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		review := authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: needed}}
		err := user.Create(ctx, &review)
		return review.Status.Allowed, err
	})
}
