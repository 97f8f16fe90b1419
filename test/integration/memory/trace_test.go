package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// stepsOfATrace is how many requests one object gets.
const stepsOfATrace = 50

// TestTraces sends the same random requests to the API server in memory and to a kube-apiserver, and compares the answers, the objects with
// their managed fields and the events of a watch. COAPPLY_CASES is the number of requests.
func TestTraces(t *testing.T) {
	steps := kit.Cases(t, 2000)
	seed, count := kit.Seed(t), model.NewTally()
	inMemory := applytest.NewServer(t, applytest.WithScheme(kit.Scheme))
	kubernetes, err := client.NewWithWatch(kit.Server(t), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	crds := traceCRDs(t)
	if _, err := kit.InstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: clones(crds)}); err != nil {
		t.Fatal(err)
	}
	if _, err := kit.InstallCRDs(inMemory.Config(), envtest.CRDInstallOptions{CRDs: clones(crds)}); err != nil {
		t.Fatal(err)
	}
	// One name for both, so that messages are equal.
	namespace := kit.NewNamespace(t, kubernetes)
	if err := inMemory.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	t.Run("objects", func(t *testing.T) {
		for worker := range 4 {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for i := worker; i < max(1, steps/stepsOfATrace); i += 4 {
					kind, key := model.Pick(model.NewDice(seed, uint64(i)), traceKinds), client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("object-%d", i)}
					if kind.cluster {
						key = client.ObjectKey{Name: namespace + "-" + key.Name}
					}
					tr := newTrace(model.NewDice(seed, uint64(i)), kind, key, count)
					tr.sides = [2]*side{newSide(inMemory), newSide(kubernetes)}
					if difference := tr.run(t.Context()); difference != "" {
						t.Errorf("object %d, a %s: %s", i, tr.kind.Kind, difference)
					}
				}
			})
		}
	})
	count.Report(t)
}

func clones(crds []*apiextensionsv1.CustomResourceDefinition) (all []*apiextensionsv1.CustomResourceDefinition) {
	for _, crd := range crds {
		all = append(all, crd.DeepCopy())
	}
	return all
}

func traceCRDs(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile(kit.File("test", "kit", "testdata", "shapes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shapes := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(raw, shapes); err != nil {
		t.Fatal(err)
	}
	samples := model.CRD("samples", model.ObjectOf(map[string]*model.Shape{"spec": model.SpecShape, "status": model.StatusShape}), model.SampleKind.GroupVersionKind)
	return []*apiextensionsv1.CustomResourceDefinition{shapes, samples}
}

// differ describes how the answers of the two sides differ. "" is: not at all.
func differ(what string, answers [2]string) string {
	if answers[0] == answers[1] {
		return ""
	}
	return fmt.Sprintf("%s (- in memory, + kube-apiserver):\n%s", what, cmp.Diff(parsed(answers[0]), parsed(answers[1])))
}

func parsed(answer string) (content any) {
	if err := json.Unmarshal([]byte(answer), &content); err != nil {
		return answer
	}
	return content
}

func textOf(value any) string {
	raw, err := json.Marshal(value)
	return strings.TrimSpace(fmt.Sprint(string(raw), errors.Join(err)))
}
