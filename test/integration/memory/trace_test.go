package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
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

// recorded has a line for each object of seed 1: its number, its kind and a hash of all answers of a kube-apiserver about it.
const recorded = "testdata/traces.txt"

// TestTraces sends the same random requests to the API server in memory and to a kube-apiserver, and compares the answers, the objects with
// their managed fields and the events of a watch. COAPPLY_CASES is the number of requests. With seed 1 the answers of the kube-apiserver also
// have to be the recorded ones, so that TestTracesAsRecorded compares with answers that a kube-apiserver gives today.
func TestTraces(t *testing.T) {
	objects, seed, count := max(1, kit.Cases(t, 1000)/stepsOfATrace), kit.Seed(t), model.NewTally()
	inMemory := applytest.NewServer(t, applytest.WithScheme(kit.Scheme))
	kubernetes, err := client.NewWithWatch(kit.Server(t), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []*rest.Config{kit.Server(t), inMemory.Config()} {
		if _, err := kit.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: traceCRDs(t)}); err != nil {
			t.Fatal(err)
		}
	}
	// One name for both, so that messages are equal.
	namespace := kit.NewNamespace(t, kubernetes)
	if err := inMemory.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	found := runTraces(t, upTo(objects), seed, namespace, count, inMemory, kubernetes)
	count.Report(t)
	switch {
	case *update && !t.Failed():
		if err := os.WriteFile(recorded, []byte(strings.Join(found, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	case seed == 1 && os.Getenv("K8S") == "":
		record := readRecord(t)
		known := min(len(record), len(found))
		if diff := cmp.Diff(record[:known], found[:known]); diff != "" {
			t.Errorf("the kube-apiserver answers otherwise than %s says. If the requests were changed: COAPPLY_CASES=%d go test -run TestTraces . -update\n%s",
				recorded, len(record)*stepsOfATrace, diff)
		}
	}
}

// TestTracesAsRecorded sends the requests of seed 1 to the API server in memory, and compares the answers with those of a kube-apiserver by the
// hashes that TestTraces recorded.
func TestTracesAsRecorded(t *testing.T) {
	t.Parallel()
	record := readRecord(t)
	all := upTo(len(record))
	found := runInMemory(t, all)
	// The record of one Namespace depends on when a second ends. So what differs runs again, on a new server: a real difference stays.
	for range 10 {
		differs := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return found[i] == record[i] })
		if len(differs) == 0 {
			return
		}
		for n, line := range runInMemory(t, differs) {
			found[differs[n]] = line
		}
	}
	if diff := cmp.Diff(record, found); diff != "" {
		t.Errorf("the API server in memory answers otherwise than a kube-apiserver did; to see how: COAPPLY_CASES=%d go test -run 'TestTraces$' .\n%s",
			len(record)*stepsOfATrace, diff)
	}
}

// runInMemory sends the requests of seed 1 about some objects to a new API server in memory, and returns the lines of the record.
func runInMemory(t *testing.T, objects []int) []string {
	t.Helper()
	inMemory := applytest.NewServer(t, applytest.WithScheme(kit.Scheme))
	if _, err := kit.InstallCRDs(inMemory.Config(), envtest.CRDInstallOptions{CRDs: traceCRDs(t)}); err != nil {
		t.Fatal(err)
	}
	if err := inMemory.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "traces"}}); err != nil {
		t.Fatal(err)
	}
	return runTraces(t, objects, 1, "traces", model.NewTally(), inMemory)
}

// upTo returns the numbers from 0 to n - 1.
func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

func readRecord(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// runTraces sends the requests about some objects to all servers, compares their answers and returns the lines of the record for the last server.
func runTraces(t *testing.T, objects []int, seed uint64, namespace string, count *model.Tally, servers ...client.WithWatch) []string {
	t.Helper()
	lines := make([]string, len(objects))
	t.Run("objects", func(t *testing.T) {
		for worker := range 4 {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for n := worker; n < len(objects); n += 4 {
					i := objects[n]
					kind, key := model.Pick(model.NewDice(seed, uint64(i)), traceKinds), client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("object-%d", i)}
					if kind.cluster {
						key = client.ObjectKey{Name: namespace + "-" + key.Name}
					}
					tr := newTrace(model.NewDice(seed, uint64(i)), kind, key, namespace, count)
					for _, server := range servers {
						tr.sides = append(tr.sides, newSide(server))
					}
					if difference := tr.run(t.Context()); difference != "" {
						t.Errorf("object %d, a %s: %s", i, tr.kind.Kind, difference)
					}
					lines[n] = fmt.Sprintf("%d %s %x", i, tr.kind.GroupVersionKind.Kind, tr.answers.Sum64())
				}
			})
		}
	})
	return lines
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

// differ describes how the answers of the two servers differ. "" is: not at all. It adds the answer of the last server to the hash.
func (t *trace) differ(what string, answers []string) string {
	_, _ = t.answers.Write([]byte(strings.ReplaceAll(answers[len(answers)-1], t.namespace, "NAMESPACE") + "\n"))
	if answers[0] == answers[len(answers)-1] {
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
