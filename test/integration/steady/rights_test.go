package steady

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// newRights gives the configuration of a user who may do that much with Deployments,
// and what changes it.
func newRights(t *testing.T, c client.Client, name string, verbs ...string) (*rest.Config, func(verbs ...string)) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	rules := func(verbs []string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs}}
	}
	role.Rules = rules(verbs)
	for _, object := range []client.Object{role, &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta,
		Subjects: []rbacv1.Subject{{Kind: "User", Name: name}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name}}} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	config := kit.Server(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	return config, func(verbs ...string) {
		role.Rules = rules(verbs)
		if err := c.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
}

// newCachedClient gives a client that reads from a cache, as a manager's does.
func newCachedClient(t *testing.T, config *rest.Config) (client.Client, client.Reader) {
	t.Helper()
	informers := kit.StartCache(t, config, cache.Options{})
	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(apply.RecordExchange)
	c, err := client.New(wrapped, client.Options{Scheme: kit.Scheme, Cache: &client.CacheOptions{Reader: informers}})
	if err != nil {
		t.Fatal(err)
	}
	return c, informers
}

// TestMissingRights: whoever may write to a kind and not list or watch it writes. The log
// says once what is missing, and proofs begin when it is granted. One of the two is
// enough for an informer to have objects, if not to keep them up to date.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	admin := kit.NewClient(t, kit.Server(t))
	for name, c := range map[string]struct {
		has  []string
		told int
	}{
		"neither":     {nil, 1},
		"list alone":  {[]string{"list"}, 0},
		"watch alone": {[]string{"watch"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := kit.NewNamespace(t, admin)
			config, grant := newRights(t, admin, namespace, append(c.has, "get", "create", "patch")...)
			cached, informers := newCachedClient(t, config)
			limited := limited{t: t, namespace: namespace, config: apply.Config{LiveReader: kit.NewClient(t, config)}, client: cached}
			shopkeeper := limited.applier("shop", kit.NewSteadyState(t, config, informers))
			other := limited.applier("other", nil)

			var told []string
			ctx, cancel := context.WithTimeout(t.Context(), kit.Patience)
			defer cancel()
			logged := logr.NewContext(ctx, funcr.New(func(_, text string) { told = append(told, text) }, funcr.Options{}))
			for n := range 20 {
				intent := apply.Intent{Config: kit.Shop("web", namespace).WithAnnotations(map[string]string{"n": fmt.Sprint(n)})}
				if outcome, err := shopkeeper.Apply(logged, intent); err != nil || outcome.Attempts != 1 {
					t.Fatalf("apply %d: %+v, %v", n, outcome, err)
				}
				if c.has != nil { // the cache may not have the object yet
					continue
				}
				if outcome, err := other.Apply(ctx, limited.minReady(n+1)); err != nil || outcome.Action != apply.Configured {
					t.Fatalf("what must exist, %d: %+v, %v", n, outcome, err)
				}
			}
			// With rights it is told of where the first list takes longer than a read is patient.
			if text := strings.Join(told, "\n"); len(told) > 1 || len(told) < c.told || c.told > 0 && !strings.Contains(text, `"resource"="deployments.apps"`) {
				t.Errorf("told %d times: %s", len(told), text)
			}
			if c.told == 0 {
				return
			}
			grant("get", "create", "patch", "list", "watch")
			steady := limited.applier("other", kit.NewSteadyState(t, config, informers))
			kit.WaitFor(t, "proofs begin", func() string {
				if outcome, err := steady.Apply(t.Context(), limited.minReady(20)); err != nil || outcome.Attempts > 0 {
					return fmt.Sprintf("%+v, %v", outcome, err)
				}
				return ""
			})
		})
	}
}

// limited writes with the rights of a user.
type limited struct {
	t         *testing.T
	namespace string
	client    client.Client
	config    apply.Config
}

func (l limited) applier(manager string, steady *apply.SteadyState) *apply.Applier {
	l.t.Helper()
	l.config.FieldManager, l.config.Steady = manager, steady
	applier, err := apply.New(l.client, l.config)
	if err != nil {
		l.t.Fatal(err)
	}
	return applier
}

// minReady is a partial intent.
func (l limited) minReady(seconds int) apply.Intent {
	spec := appsv1ac.DeploymentSpec().WithMinReadySeconds(int32(seconds))
	return apply.Intent{Config: appsv1ac.Deployment("web", l.namespace).WithSpec(spec), MustExist: true}
}
