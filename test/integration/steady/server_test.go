package steady

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// steadyServer is the API server with what concerns the steady state: admission that
// changes objects of this package, and the kinds it takes.
var steadyServer = sync.OnceValues(func() (*rest.Config, error) {
	config, err := kit.ServerConfig()
	if err != nil {
		return nil, err
	}
	if err := installCRDs(config, steadyCRDs()); err != nil {
		return nil, err
	}
	if err := awaitForms(config, steadyKinds); err != nil {
		return nil, err
	}
	return config, installSteadyAdmission(config)
})

// awaitForms returns when the server serves every form, and its schema.
func awaitForms(config *rest.Config, kinds []steadyKind) error {
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), kit.Patience)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		paths, err := found.OpenAPIV3().Paths()
		if err != nil {
			return false, err
		}
		for _, kind := range kinds {
			for _, form := range kind.forms {
				path := "apis/" + form.GroupVersion().String()
				if form.Group == "" {
					path = "api/" + form.Version
				}
				_, err := found.ServerResourcesForGroupVersion(form.GroupVersion().String())
				if paths[path] == nil || err != nil {
					return false, client.IgnoreNotFound(err)
				}
			}
		}
		return true, nil
	})
}

func steadyConfig(t *testing.T) *rest.Config {
	t.Helper()
	config, err := steadyServer()
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	return config
}

var steadySample = schema.GroupVersionKind{Group: "steady.coapply.dev", Version: "v1", Kind: "Sample"}

// steadySampleShape is what the model's sample has, with defaults and what servers of
// built-in kinds normalise and this one does not.
var steadySampleShape = func() *model.Shape {
	spec := maps.Clone(model.SpecShape.Fields)
	spec["wait"] = oneOf("60s", "1m", "1m0s")
	spec["cpu"] = oneOf("1", "1000m")
	spec["filled"] = &model.Shape{Kind: model.ObjectShape, Defaults: map[string]any{"mode": "auto", "wait": "30s"}, Fields: map[string]*model.Shape{
		"mode": oneOf("auto", "off"), "wait": oneOf("30s", "1m"), "note": model.Words}}
	return steadyShape(map[string]*model.Shape{"spec": model.ObjectOf(spec), "status": model.StatusShape})
}()

func sampleOfSteady() steadyKind {
	second := schema.GroupVersionKind{Group: steadySample.Group, Version: "v2", Kind: steadySample.Kind}
	return steadyKind{base: "spec: {title: base}", forms: []steadyForm{
		{GroupVersionKind: steadySample, shape: steadySampleShape, lacks: []string{"free", "price", "opts", "deep", "cpu", "wait", "steps"}},
		{GroupVersionKind: second, shape: steadySampleShape},
	}}
}

// steadyCRDs are the kinds that the server is given.
func steadyCRDs() []*apiextensionsv1.CustomResourceDefinition {
	sample := model.ObjectOf(map[string]*model.Shape{"spec": steadySampleShape.Fields["spec"], "status": model.StatusShape})
	eviction := steadyCRD("evictionrequests", evictionShape, evictionOfSteady().forms...)
	eviction.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, for a test"}
	return []*apiextensionsv1.CustomResourceDefinition{steadyCRD("samples", sample, sampleOfSteady().forms...), eviction}
}

func steadyCRD(plural string, shape *model.Shape, forms ...steadyForm) *apiextensionsv1.CustomResourceDefinition {
	var kinds []schema.GroupVersionKind
	for _, form := range forms {
		kinds = append(kinds, form.GroupVersionKind)
	}
	return model.CRD(plural, shape, kinds...)
}

func installCRDs(config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	_, err := kit.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: crds})
	return err
}

// switchLabel says what admission does to an object at every write of it: "override"
// sets a label that intents set as well, "annotate" adds one that nobody sets, "late"
// does so at our writes only.
const switchLabel = "steady-admission"

// steadyAdmission are policies by what the switch says: a condition, and a label.
var steadyAdmission = map[string][2]string{
	"override": {"true", `/metadata/labels/app`},
	"annotate": {"true", `/metadata/labels/injected`},
	"late":     {"has(request.options.fieldManager) && request.options.fieldManager == 'us'", `/metadata/labels/late`},
}

// installSteadyAdmission returns when the policies are in force, or at once where the server knows no policies.
func installSteadyAdmission(config *rest.Config) error {
	c, err := client.New(config, client.Options{Scheme: kit.Scheme})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), kit.Patience)
	defer cancel()
	for name, policy := range steadyAdmission {
		err := kit.CreatePolicies(ctx, c, kit.Mutation{
			Name: "steady-" + name,
			Constraints: `{objectSelector: {matchLabels: {` + switchLabel + `: ` + name + `}},
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: ["*"]}]}`,
			When:  policy[0],
			Patch: "[JSONPatch{op: 'add', path: '" + policy[1] + "', value: 'admitted'}]",
		})
		if errors.Is(err, kit.ErrNoPolicies) {
			return nil // admission changes nothing then
		}
		if err != nil {
			return err
		}
	}
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return steadyAdmits(ctx, c), nil
	})
}

// steadyAdmits tells whether admission knows all of the policies and all of the forms.
func steadyAdmits(ctx context.Context, c client.Client) bool {
	for name, policy := range steadyAdmission {
		for _, kind := range steadyKinds {
			for _, form := range kind.forms {
				probe := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(kind.base), &probe.Object); err != nil {
					return false
				}
				probe.SetGroupVersionKind(form.GroupVersionKind)
				probe.SetName("probe")
				probe.SetNamespace("default")
				probe.SetLabels(map[string]string{switchLabel: name})
				err := c.Create(ctx, probe, client.DryRunAll, client.FieldOwner(kit.OurManager))
				if err != nil || probe.GetLabels()[filepath.Base(policy[1])] != "admitted" {
					return false
				}
			}
		}
	}
	return true
}
