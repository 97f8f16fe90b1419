package applytest_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// calls are all of a client's, with how a fault names each.
var calls = map[string]func(context.Context, client.Client) error{
	"get Deployment shop/web": func(ctx context.Context, c client.Client) error {
		return c.Get(ctx, client.ObjectKeyFromObject(web()), &appsv1.Deployment{})
	},
	"list Deployment shop/": func(ctx context.Context, c client.Client) error {
		return c.List(ctx, &appsv1.DeploymentList{}, client.InNamespace("shop"))
	},
	"create Pod shop/p": func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}})
	},
	"dry run of create Pod shop/p": func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}, client.DryRunAll)
	},
	"update Deployment shop/web":            func(ctx context.Context, c client.Client) error { return c.Update(ctx, web()) },
	"dry run of update Deployment shop/web": func(ctx context.Context, c client.Client) error { return c.Update(ctx, web(), client.DryRunAll) },
	"patch Deployment shop/web":             func(ctx context.Context, c client.Client) error { return c.Patch(ctx, web(), merge) },
	"dry run of patch Deployment shop/web":  func(ctx context.Context, c client.Client) error { return c.Patch(ctx, web(), merge, client.DryRunAll) },
	"apply Deployment shop/web": func(ctx context.Context, c client.Client) error {
		return c.Apply(ctx, threeReplicas(), owner, &client.ApplyOptions{Force: new(false)})
	},
	"forced apply Deployment shop/web": func(ctx context.Context, c client.Client) error {
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(unstructuredWeb()), owner, client.ForceOwnership)
	},
	"dry run of forced apply Deployment shop/web": func(ctx context.Context, c client.Client) error {
		return c.Apply(ctx, threeReplicas(), owner, client.ForceOwnership, client.DryRunAll)
	},
	"delete Deployment shop/web":            func(ctx context.Context, c client.Client) error { return c.Delete(ctx, web()) },
	"dry run of delete Deployment shop/web": func(ctx context.Context, c client.Client) error { return c.Delete(ctx, web(), client.DryRunAll) },
	"dry run of deletecollection Deployment shop/": func(ctx context.Context, c client.Client) error {
		return c.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace("shop"), client.DryRunAll)
	},
	"deletecollection Deployment shop/": func(ctx context.Context, c client.Client) error {
		return c.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace("shop"))
	},
	"get Deployment/scale shop/web": func(ctx context.Context, c client.Client) error {
		return c.SubResource("scale").Get(ctx, web(), &autoscalingv1.Scale{})
	},
	"update Deployment/status shop/web": func(ctx context.Context, c client.Client) error { return c.Status().Update(ctx, web()) },
	"update Deployment/scale shop/web": func(ctx context.Context, c client.Client) error {
		return c.SubResource("scale").Update(ctx, web(), client.WithSubResourceBody(scale()))
	},
	"patch Deployment/status shop/web": func(ctx context.Context, c client.Client) error { return c.Status().Patch(ctx, web(), merge) },
	"patch Deployment/scale shop/web": func(ctx context.Context, c client.Client) error {
		return c.SubResource("scale").Patch(ctx, web(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`)),
			client.WithSubResourceBody(&autoscalingv1.Scale{}))
	},
	"apply Deployment/status shop/web": func(ctx context.Context, c client.Client) error {
		return c.Status().Apply(ctx, appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(2)), owner)
	},
	"forced apply Deployment/scale shop/web": func(ctx context.Context, c client.Client) error {
		body := autoscalingv1ac.Scale().WithName("web").WithNamespace("shop").WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(4))
		return c.SubResource("scale").Apply(ctx, appsv1ac.Deployment("web", "shop"), owner, client.ForceOwnership,
			&client.SubResourceApplyOptions{SubResourceBody: body})
	},
	"create Deployment/eviction shop/web": func(ctx context.Context, c client.Client) error {
		return c.SubResource("eviction").Create(ctx, web(), &corev1.Pod{})
	},
	"dry run of create Deployment/eviction shop/web": func(ctx context.Context, c client.Client) error {
		return c.SubResource("eviction").Create(ctx, web(), &corev1.Pod{}, client.DryRunAll)
	},
	"dry run of update Deployment/status shop/web": func(ctx context.Context, c client.Client) error {
		return c.Status().Update(ctx, web(), client.DryRunAll)
	},
	"dry run of forced apply Deployment/status shop/web": func(ctx context.Context, c client.Client) error {
		return c.Status().Patch(ctx, unstructuredWeb(), client.Apply, owner, client.ForceOwnership, client.DryRunAll) //nolint:staticcheck // callers have it still
	},
	"get AllowList shop/a": func(ctx context.Context, c client.Client) error { // which is no list
		one := &unstructured.Unstructured{}
		one.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "AllowList"})
		return c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "a"}, one)
	},
}

// failingClient fails every call with errOwn.
func failingClient() client.Client {
	type (
		c      = client.WithWatch
		object = client.Object
		config = runtime.ApplyConfiguration
	)
	return interceptor.NewClient(fakeClient(), interceptor.Funcs{
		Get:         func(context.Context, c, client.ObjectKey, object, ...client.GetOption) error { return errOwn },
		List:        func(context.Context, c, client.ObjectList, ...client.ListOption) error { return errOwn },
		Create:      func(context.Context, c, object, ...client.CreateOption) error { return errOwn },
		Delete:      func(context.Context, c, object, ...client.DeleteOption) error { return errOwn },
		DeleteAllOf: func(context.Context, c, object, ...client.DeleteAllOfOption) error { return errOwn },
		Update:      func(context.Context, c, object, ...client.UpdateOption) error { return errOwn },
		Patch:       func(context.Context, c, object, client.Patch, ...client.PatchOption) error { return errOwn },
		Apply:       func(context.Context, c, config, ...client.ApplyOption) error { return errOwn },
		SubResourceGet: func(context.Context, client.Client, string, object, object, ...client.SubResourceGetOption) error {
			return errOwn
		},
		SubResourceCreate: func(context.Context, client.Client, string, object, object, ...client.SubResourceCreateOption) error {
			return errOwn
		},
		SubResourceUpdate: func(context.Context, client.Client, string, object, ...client.SubResourceUpdateOption) error {
			return errOwn
		},
		SubResourcePatch: func(context.Context, client.Client, string, object, client.Patch, ...client.SubResourcePatchOption) error {
			return errOwn
		},
		SubResourceApply: func(context.Context, client.Client, string, config, ...client.SubResourceApplyOption) error {
			return errOwn
		},
	})
}
