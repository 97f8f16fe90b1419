package applytest_test

import (
	"context"
	"reflect"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply/applytest"
)

// TestLostConfigurations: what goes to the wrapped client is of the caller's type, and what
// nobody could send is not sent.
func TestLostConfigurations(t *testing.T) {
	var none *appsv1ac.DeploymentApplyConfiguration
	for name, c := range map[string]struct {
		config runtime.ApplyConfiguration
		sent   bool
	}{
		"typed":         {threeReplicas(), true},
		"unstructured":  {client.ApplyConfigurationFromUnstructured(unstructuredWeb()), true},
		"nothing":       {nil, false},
		"a nil pointer": {none, true},
		"no pointer":    {*threeReplicas(), false},
		"no JSON":       {client.ApplyConfigurationFromUnstructured(notJSON()), false},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []runtime.ApplyConfiguration
			wrapped := interceptor.NewClient(fakeClient(), interceptor.Funcs{
				Apply: func(_ context.Context, _ client.WithWatch, config runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
					sent = append(sent, config)
					return nil
				},
			})
			if err := applytest.Inject(t, wrapped, applytest.Fault{Answer: applytest.AnswerLost()}).Apply(t.Context(), c.config, owner); err == nil {
				t.Error("the answer was not lost")
			}
			if c.sent != (len(sent) == 1) || c.sent && reflect.TypeOf(sent[0]) != reflect.TypeOf(c.config) {
				t.Errorf("sent %T, of %T", sent, c.config)
			}
		})
	}
}

// TestLostStatus: a copy of the object is sent where there is no body.
func TestLostStatus(t *testing.T) {
	var sent []client.Object
	wrapped := interceptor.NewClient(fakeClient(), interceptor.Funcs{
		SubResourceUpdate: func(_ context.Context, _ client.Client, _ string, object client.Object, _ ...client.SubResourceUpdateOption) error {
			sent = append(sent, object)
			return nil
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			sent = append(sent, object)
			return nil
		},
	})
	c := applytest.Inject(t, wrapped, applytest.Fault{Answer: applytest.AnswerLost(), Times: 2})
	mine := web()
	if err := c.Status().Update(t.Context(), mine); err == nil {
		t.Error("the update's answer was not lost")
	}
	if err := c.Status().Patch(t.Context(), mine, merge); err == nil {
		t.Error("the patch's answer was not lost")
	}
	if len(sent) != 2 || sent[0] == client.Object(mine) || sent[1] == client.Object(mine) || sent[0].GetName() != "web" {
		t.Errorf("sent %v, want two copies", sent)
	}
}

// TestLostBodies: the answer that is lost is written neither into the object nor into the body.
func TestLostBodies(t *testing.T) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`))
	for name, call := range map[string]func(client.SubResourceClient, *autoscalingv1.Scale) error{
		"update": func(c client.SubResourceClient, body *autoscalingv1.Scale) error {
			return c.Update(t.Context(), web(), client.WithSubResourceBody(body))
		},
		"patch": func(c client.SubResourceClient, body *autoscalingv1.Scale) error {
			return c.Patch(t.Context(), web(), patch, client.WithSubResourceBody(body))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sent client.Object
			wrapped := interceptor.NewClient(fakeClient(), interceptor.Funcs{
				SubResourceUpdate: func(_ context.Context, _ client.Client, _ string, _ client.Object, opts ...client.SubResourceUpdateOption) error {
					sent = (&client.SubResourceUpdateOptions{}).ApplyOptions(opts).SubResourceBody
					return nil
				},
				SubResourcePatch: func(_ context.Context, _ client.Client, _ string, _ client.Object, _ client.Patch, opts ...client.SubResourcePatchOption) error {
					sent = (&client.SubResourcePatchOptions{}).ApplyOptions(opts).SubResourceBody
					return nil
				},
			})
			body := scale()
			if err := call(applytest.Inject(t, wrapped, applytest.Fault{Answer: applytest.AnswerLost()}).SubResource("scale"), body); err == nil {
				t.Error("the answer was not lost")
			}
			if copied, ok := sent.(*autoscalingv1.Scale); !ok || copied == body || copied.Spec.Replicas != 4 {
				t.Errorf("sent %v, want a copy of the body", sent)
			}
		})
	}
}
