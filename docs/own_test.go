package docs_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/compare"
)

// TestOwnCode holds what docs/benchmarking.md shows of an arm and a workload of one's own to what is compiled here.
func TestOwnCode(t *testing.T) {
	compiled, err := os.ReadFile("owncode_test.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if d.path != "docs/benchmarking.md" || b.language != "go" {
				continue
			}
			shown++
			code := strings.TrimPrefix(b.text, "func main() { os.Exit(commands.Main(catalogue())) }\n\n")
			if !strings.Contains(string(compiled), "\n"+code) {
				t.Errorf("%s:%d: owncode_test.go does not have it word for word", d.path, b.line)
			}
		}
	}
	if shown != 3 {
		t.Errorf("%d blocks of Go shown", shown)
	}
}

func TestOwnCatalogue(t *testing.T) {
	if err := catalogue().Check(); err != nil {
		t.Fatal(err)
	}
	list := runBenchmark(t, catalogue(), []string{"list"})
	for _, name := range []string{"blind-merge-patch", "labels"} {
		if !regexp.MustCompile(`(?m)^ ?` + name + " ").MatchString(list) {
			t.Errorf("compare list does not have %s:\n%s", name, list)
		}
	}
}

// TestOwnWorkload writes by each of the workload's arms, and by the one of one's own, as trials do: with objects of its own
// for each arm.
func TestOwnWorkload(t *testing.T) {
	w, _ := catalogue().Workload("labels")
	for _, name := range append([]string{"blind-merge-patch"}, w.Arms...) {
		t.Run(name, func(t *testing.T) {
			server := fake.NewClientBuilder().WithReturnManagedFields().
				WithInterceptorFuncs(interceptor.Funcs{Create: withUID}).Build()
			run, err := w.Prepare(t.Context(), compare.Stage{
				Admin: server, Namespace: "n", Prefix: "t-", Parameters: w.Defaults,
			})
			if err != nil {
				t.Fatal(err)
			}
			arm, _ := catalogue().Arm(name)
			writer, err := arm.New(compare.Session{
				Client: func(string) client.Client { return server },
				Cache:  server, Schemas: struct{ openapi.Client }{}, // what is written differs: no schema is asked for
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 * w.Defaults.Writers {
				writeOne(t, server, run, writer, i%w.Defaults.Writers, i/w.Defaults.Writers)
			}
			if err := run.Clean(t.Context()); err != nil {
				t.Error(err)
			}
			err = server.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "t-labelled"}, &corev1.ConfigMap{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("the object is there after Clean: %v", err)
			}
		})
	}
}

// writeOne writes an intent, and looks for it as the oracle does.
func writeOne(t *testing.T, server client.Client, run compare.Run, writer compare.Writer, number, sequence int) {
	t.Helper()
	intent, more, err := run.Next(t.Context(), number, sequence)
	if err != nil || !more {
		t.Fatalf("no intent: %v, %v", more, err)
	}
	receipt, err := writer.Write(t.Context(), intent)
	if err != nil {
		t.Fatal(err)
	}
	object := labels{}.unstructured(map[string]any{})
	key := client.ObjectKey{Namespace: intent.Namespace, Name: intent.Name}
	if err := server.Get(t.Context(), key, object); err != nil {
		t.Fatal(err)
	}
	fields := run.Fields(object)
	for name, value := range intent.Wants {
		if fields[name] != value || receipt.ResourceVersion != object.GetResourceVersion() {
			t.Errorf("%s is %q at %s, want %q at %s", name, fields[name], object.GetResourceVersion(), value, receipt.ResourceVersion)
		}
	}
	if len(fields) != 4 {
		t.Errorf("labels of 4 managers, not %v", fields)
	}
}

// withUID gives what the fake does not, and what an arm knows an existing object by.
func withUID(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
	object.SetUID("uid")
	return c.Create(ctx, object, options...)
}
