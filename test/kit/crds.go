package kit

import (
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// InstallCRDs installs CRDs, and waits until they are served. It retries, because tests of other packages may install
// the same CRDs at the same time.
func InstallCRDs(config *rest.Config, options envtest.CRDInstallOptions) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	for {
		installed, err := envtest.InstallCRDs(config, options)
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			return installed, err
		}
	}
}

// OurCRDs returns install options for the CRDs of the platform.
func OurCRDs() envtest.CRDInstallOptions {
	files, err := filepath.Glob(File("config", "crd", "platform.coapply.dev_*.yaml"))
	if err != nil || len(files) == 0 {
		panic("no CRDs in config/crd")
	}
	return envtest.CRDInstallOptions{Paths: files, ErrorIfPathMissing: true}
}

// File returns the path of a file of this repository. It is relative to the working directory, which may be in a nested
// module.
func File(elements ...string) string {
	folder := "."
	for {
		if _, err := os.Stat(filepath.Join(folder, "LICENSE")); err == nil || len(folder) > 64 {
			return filepath.Join(append([]string{folder}, elements...)...)
		}
		folder = filepath.Join("..", folder)
	}
}

// Widgets returns the CRD of a kind without a schema.
func Widgets(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: kind.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &preserve,
				}},
			}},
		},
	}
}

// ChangeCRD changes a CRD of TwoVersions, and waits until the API server no longer serves v1alpha1.
func ChangeCRD(t *testing.T, c client.Client, crd *apiextensionsv1.CustomResourceDefinition, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	crd = crd.DeepCopy()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	change(crd)
	if err := c.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	probe := ObjectOf(crd.Spec.Group+"/v1alpha1", "Pair", "default", "probe", map[string]any{})
	WaitFor(t, "v1alpha1 is served no longer", func() string {
		if err := c.Create(t.Context(), probe, client.DryRunAll); err == nil {
			return "a Pair of it can be created"
		}
		return ""
	})
}

// TwoVersions returns the CRD of a kind in the given group. The field spec.former exists only in its version v1alpha1.
func TwoVersions(group string) *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	version := func(name string, storage bool, fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: fields}},
			}},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "pairs." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "pairs", Singular: "pair", Kind: "Pair", ListKind: "PairList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				version("v1", true, map[string]apiextensionsv1.JSONSchemaProps{"a": text, "b": text}),
				version("v1alpha1", false, map[string]apiextensionsv1.JSONSchemaProps{"a": text, "b": text, "former": text}),
			},
		},
	}
}

// InstallRBAC creates the object in a file of config/rbac, unless it exists already.
func InstallRBAC(t *testing.T, c client.Client, file string, object client.Object) {
	t.Helper()
	raw, err := os.ReadFile(File("config", "rbac", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, object); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// AsManager returns a configuration with the rights of config/rbac and no others.
func AsManager(t *testing.T, c client.Client, restConfig *rest.Config) *rest.Config {
	t.Helper()
	InstallRBAC(t, c, "role.yaml", &rbacv1.ClusterRole{})
	InstallRBAC(t, c, "role_binding.yaml", &rbacv1.ClusterRoleBinding{})
	limited := rest.CopyConfig(restConfig)
	limited.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:coapply-system:coapply-manager",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	return limited
}
