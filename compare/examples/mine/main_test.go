package main

import (
	"bytes"
	"context"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/compare"
	"coapply.dev/compare/commands"
)

func TestOwnCatalogue(t *testing.T) {
	if err := catalogue().Check(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	commands.Run(t.Context(), catalogue(), []string{"list"}, commands.Streams{Out: &out, Err: &out})
	for _, name := range []string{"blind-merge-patch", "labels"} {
		if !regexp.MustCompile(`(?m)^ ?` + name + " ").MatchString(out.String()) {
			t.Errorf("compare list does not have %s:\n%s", name, &out)
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
