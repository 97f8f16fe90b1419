package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// TestFirstDayOfAController makes common mistakes in an Emit. Each mistake is logged as one
// error, and nothing is applied.
func TestFirstDayOfAController(t *testing.T) {
	t.Parallel()
	calls := 0
	for name, test := range map[string]struct {
		emit func(parent *corev1.ConfigMap) *corev1ac.SecretApplyConfiguration
		want string
	}{
		"an emit that differs each time": {func(parent *corev1.ConfigMap) *corev1ac.SecretApplyConfiguration {
			calls++
			return corev1ac.Secret("child", parent.Namespace).WithOwnerReferences(ownedByConfigMap(parent)).
				WithStringData(map[string]string{"calls": fmt.Sprint(calls)})
		}, "emit is not pure: two calls of Emit for the same parent returned different values of .stringData.calls in Secret"},
		"no owner reference": {func(parent *corev1.ConfigMap) *corev1ac.SecretApplyConfiguration {
			return corev1ac.Secret("child", parent.Namespace)
		}, "the intent has no owner reference to the parent ConfigMap"},
		"an owner reference across namespaces": {func(parent *corev1.ConfigMap) *corev1ac.SecretApplyConfiguration {
			return corev1ac.Secret("child", "default").WithOwnerReferences(ownedByConfigMap(parent))
		}, "the garbage collector deletes an object whose owner is in another namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			c := kit.NewClient(t, kit.Server(t))
			namespace := kit.NewNamespace(t, c)
			recorder := &kit.Recorder{}
			restConfig := rest.CopyConfig(kit.Server(t))
			restConfig.Wrap(recorder.Wrap)
			logged := make(chan string, 1000)
			mgr := newDropInManager(t, restConfig, func(o *ctrl.Options) {
				o.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
				o.Logger = logger(func(line string) {
					if strings.Contains(line, "error") {
						logged <- line
					}
				})
			})
			rt, err := coapply.New(mgr)
			if err != nil {
				t.Fatal(err)
			}
			if err := coapply.For(rt, "example-firstday", func(parent *corev1.ConfigMap) ([]apply.Intent, error) {
				if parent.Name != "parent" { // the server makes one in each namespace
					return nil, nil
				}
				return []apply.Intent{{Config: test.emit(parent)}}, nil
			}).Owns(&corev1.Secret{}).Complete(); err != nil {
				t.Fatal(err)
			}
			applytest.StartManager(t, mgr)
			if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "parent"}}); err != nil {
				t.Fatal(err)
			}
			if line := <-logged; !strings.Contains(line, test.want) {
				t.Errorf("logged %s, want %q", line, test.want)
			}
			if n := recorder.Count(kit.Request{Verb: "apply"}); n != 0 {
				t.Errorf("%d applies were sent, want none", n)
			}
		})
	}
}

func ownedByConfigMap(parent *corev1.ConfigMap) *metav1ac.OwnerReferenceApplyConfiguration {
	return coapply.OwnedBy(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

func logger(line func(string)) logr.Logger {
	return funcr.New(func(_, args string) { line(args) }, funcr.Options{})
}
