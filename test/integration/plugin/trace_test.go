package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

// taking is a field of an object that one field manager took from another one.
type taking struct{ Object, Path, From, To string }

// TestTrace: every change of an owner that etcd's history has is in the trace of the audit log, and no other. The history
// comes from a watch, which returns every version. Of writes through /scale the log does not show the owners, and the API
// server may record none, so takings from and by the HPA may differ from the history if they are marked as inferred.
func TestTrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.log")
	server, err := localcluster.StartAPIServer(t.Context(), kit.StartLog(),
		"audit-policy-file="+kit.File("docs", "audit-policy.yaml"), "audit-log-path="+log, "audit-log-maxsize=100000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	config := server.Config()
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	versions, err := clientset.AppsV1().Deployments(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range deployments {
		applyReplicas(t, c, namespace, i, "creator", 1, true)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			w := &traceWriter{c, rand.New(rand.NewPCG(1, uint64(i))), namespace, fmt.Sprint("writer-", i)}
			w.write(t, 50)
		})
	}
	all.Wait()
	last := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "last"}}
	last.Spec = appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	last.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if err := c.Create(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	want := takings(t, versions)
	if len(want) < 20 {
		t.Fatalf("only %d fields were taken, so the test shows little", len(want))
	}

	stdout, stderr, code := kit.OutputOf(t, kit.KubectlCommand(t, config, "fieldowners", "trace", log, "-o", "json", "-n", namespace))
	var report struct {
		Unreadable, Disordered int
		Taken                  []struct {
			Object         struct{ Kind, Name string }
			Path, From, To string
			Times          int
			Inferred       bool
		}
		Writers []struct {
			User, Manager, Verb, Resource               string
			Writes, Unchanged, Conflicts, Stale, Failed int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 1 {
		t.Fatalf("%v, exit code %d: %s", err, code, stderr)
	}
	got := map[taking]int{}
	for _, one := range report.Taken {
		took := taking{one.Object.Name, one.Path, one.From, one.To}
		if byScale := took.From == scaler || took.To == scaler; byScale && one.Inferred {
			continue
		} else if byScale && one.Times > want[took] || !byScale && one.Inferred {
			t.Errorf("%+v, %d times in etcd", one, want[took])
		}
		got[took] += one.Times
	}
	for _, all := range []map[taking]int{want, got} {
		maps.DeleteFunc(all, func(took taking, _ int) bool { return took.From == scaler || took.To == scaler })
	}
	if diff := cmp.Diff(want, got); diff != "" || report.Unreadable+report.Disordered > 0 {
		t.Errorf("taken (-etcd +trace), %d lines unreadable, %d writes disordered:\n%s", report.Unreadable, report.Disordered, diff)
	}
	unchanged, refused := 0, 0
	for _, w := range report.Writers {
		unchanged, refused = unchanged+w.Unchanged, refused+w.Conflicts
	}
	if unchanged == 0 || refused == 0 {
		t.Errorf("%d unchanged writes and %d ownership conflicts, want some of each", unchanged, refused)
	}
}

const (
	deployments = 3
	scaler      = "hpa/Update[scale]" // writes through /scale only
)

func deploymentName(i int) string { return fmt.Sprint("web-", i) }

// applyReplicas applies the replicas and the image of a Deployment.
func applyReplicas(t *testing.T, c client.Client, namespace string, i int, manager string, replicas int, force bool) {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"replicas":%d,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i%d"}]}}}}`, deploymentName(i), replicas, replicas)
	options := []client.PatchOption{client.FieldOwner(manager)}
	if force {
		options = append(options, client.ForceOwnership)
	}
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: deploymentName(i)}}
	if err := c.Patch(t.Context(), object, client.RawPatch(types.ApplyPatchType, []byte(body)), options...); err != nil && force {
		t.Error(err)
	}
}

// traceWriter makes random writes.
type traceWriter struct {
	client.Client

	random          *rand.Rand
	namespace, name string
}

func (w *traceWriter) write(t *testing.T, times int) {
	for range times {
		i, value := w.random.IntN(deployments), w.random.IntN(3)+1
		object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: deploymentName(i)}}
		merge := func(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }
		var err error
		switch w.random.IntN(7) {
		case 0, 1:
			applyReplicas(t, w, w.namespace, i, w.name, value, true)
		case 2:
			applyReplicas(t, w, w.namespace, i, w.name, value, false)
		case 3:
			err = w.Patch(t.Context(), object, merge(fmt.Sprintf(`{"spec":{"replicas":%d,"minReadySeconds":%d}}`, value, value)), client.FieldOwner(w.name))
		case 4:
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: int32(value)}}
			err = w.SubResource("scale").Update(t.Context(), object, client.WithSubResourceBody(scale), client.FieldOwner("hpa"))
		case 5:
			err = w.SubResource("status").Patch(t.Context(), object, merge(fmt.Sprintf(`{"status":{"replicas":%d}}`, value)), client.FieldOwner(w.name))
		case 6:
			err = w.Patch(t.Context(), object, merge(fmt.Sprintf(`{"metadata":{"labels":{"l%d":%q}}}`, value, w.name)), client.FieldOwner(w.name))
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// takings counts the changes of owners between the versions of Deployments, until the Deployment last is created.
func takings(t *testing.T, versions watch.Interface) map[taking]int {
	t.Helper()
	defer versions.Stop()
	found, before := map[taking]int{}, map[string]fieldowners.Ownership{}
	for deadline := time.After(kit.Patience); ; {
		select {
		case e := <-versions.ResultChan():
			object, is := e.Object.(*appsv1.Deployment)
			if !is {
				t.Fatalf("the watch ended: %v", e.Object)
			}
			if object.Name == "last" {
				return found
			}
			after, err := fieldowners.Parse(object.ManagedFields)
			if err != nil {
				t.Fatal(err)
			}
			if earlier, known := before[object.Name]; known {
				for _, m := range fieldowners.Diff(earlier, after).Moved {
					found[taking{object.Name, m.Path.String(), m.From.String(), m.To.String()}]++
				}
			}
			before[object.Name] = after
		case <-deadline:
			t.Fatal("the watch did not show the last Deployment")
		}
	}
}
