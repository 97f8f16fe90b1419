package applytest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
)

var (
	merge = client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	owner = client.FieldOwner("test")
)

func scale() *autoscalingv1.Scale {
	return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
}

func unstructuredWeb() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec":     map[string]any{"replicas": int64(4)},
	}}
}

// TestEveryCallCanFail gives each call a fault that names it with all its parts,
// and to each call faults that name the others.
func TestEveryCallCanFail(t *testing.T) {
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			c := applytest.Inject(t, fakeClient(), applytest.Fault{Call: parse(name), Answer: applytest.Fails(errOwn)})
			if err := call(t.Context(), c); !errors.Is(err, errOwn) {
				t.Errorf("got %v, want the fault", err)
			}
			passed, direct := call(t.Context(), c), call(t.Context(), fakeClient())
			if diff := cmp.Diff(message(direct), message(passed)); diff != "" {
				t.Errorf("without a fault due (-client +faulty client):\n%s", diff)
			}
			inner := &testingT{TB: t}
			c = applytest.Inject(inner, failingClient(), applytest.Fault{Call: applytest.Call{Kind: "None"}, Answer: applytest.Forbidden()})
			if err := call(t.Context(), c); !errors.Is(err, errOwn) {
				t.Errorf("got %v, want the wrapped client's error", err)
			}
			inner.end()
			if got := strings.Join(inner.failures, ""); !strings.HasSuffix(got, "made:\n  "+name) {
				t.Errorf("the call is described as in %q, want %q", got, name)
			}
		})
	}
}

// parse reads what Call.String writes.
func parse(name string) applytest.Call {
	var c applytest.Call
	name, c.DryRun = cut(name, "dry run of ")
	name, c.Forced = cut(name, "forced ")
	parts := strings.Fields(name)
	c.Verb = applytest.Verb(parts[0])
	c.Kind, c.Subresource, _ = strings.Cut(parts[1], "/")
	c.Namespace, c.Name, _ = strings.Cut(parts[2], "/")
	return c
}

func cut(s, prefix string) (string, bool) { return strings.CutPrefix(s, prefix) }

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What lands without an answer is on the server, and what was handed in is as it
// was.
func TestAnswerLost(t *testing.T) {
	for name, change := range map[string]func(client.Client, *appsv1.Deployment) error{
		"update": func(c client.Client, d *appsv1.Deployment) error {
			d.Spec.Replicas = new(int32(4))
			return c.Update(t.Context(), d)
		},
		"patch": func(c client.Client, d *appsv1.Deployment) error {
			return c.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`)))
		},
		"scale": func(c client.Client, d *appsv1.Deployment) error {
			return c.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(scale()))
		},
		"unstructured apply": func(c client.Client, _ *appsv1.Deployment) error {
			mine := unstructuredWeb()
			defer func() {
				if diff := cmp.Diff(unstructuredWeb(), mine); diff != "" {
					t.Errorf("the configuration was written to:\n%s", diff)
				}
			}()
			return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(mine), owner, client.ForceOwnership)
		},
		"typed apply": func(c client.Client, _ *appsv1.Deployment) error {
			mine := threeReplicas()
			mine.Spec.WithReplicas(4)
			defer func() {
				if mine.UID != nil {
					t.Error("the configuration was written to")
				}
			}()
			return c.Apply(t.Context(), mine, owner, client.ForceOwnership)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := applytest.Inject(t, fakeClient(), applytest.Fault{Answer: applytest.AnswerLost()})
			mine := live(t, c)
			before := mine.ResourceVersion
			err := change(c, mine)
			if !errors.Is(apply.Classify(t.Context(), apply.ObjectRef{}, err), apply.ErrRetryable) {
				t.Errorf("got %v, want %v", err, apply.ErrRetryable)
			}
			after := live(t, c)
			if *after.Spec.Replicas != 4 || after.ResourceVersion == before || mine.ResourceVersion != before {
				t.Errorf("%d replicas at %s, and %s in hand after %s", *after.Spec.Replicas, after.ResourceVersion, mine.ResourceVersion, before)
			}
		})
	}
}

// A call that is not sent is not met by a fault.
func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	inner := &testingT{TB: t}
	c := applytest.Inject(inner, failingClient(), applytest.Fault{Answer: applytest.Forbidden()})
	if err := c.Get(ctx, client.ObjectKeyFromObject(web()), &appsv1.Deployment{}); !errors.Is(err, errOwn) || c.Given() != 0 {
		t.Errorf("%v, %d given", err, c.Given())
	}
}

func TestHangsNeedsAContextThatEnds(t *testing.T) {
	inner := &testingT{TB: t}
	c := applytest.Inject(inner, fakeClient(), applytest.Fault{Answer: applytest.Hangs()})
	err := c.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(web()), &appsv1.Deployment{})
	if err == nil || !strings.Contains(err.Error(), "its context has no end") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{message(err)}, inner.failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// withoutMapper is a client written by hand, as users' tests have them.
type withoutMapper struct{ client.Client }

func (withoutMapper) RESTMapper() meta.RESTMapper { return nil }

func TestClientWithoutMapper(t *testing.T) {
	c := applytest.Inject(t, withoutMapper{fakeClient()}, applytest.Fault{Call: parse("update Deployment shop/web"), Answer: applytest.Fails(errOwn)})
	if err := c.Update(t.Context(), web()); !errors.Is(err, errOwn) {
		t.Errorf("got %v, want the fault", err)
	}
}
