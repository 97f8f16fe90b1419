package steady

import (
	"maps"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi/cached"
	"k8s.io/client-go/rest"

	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// wideReads are those of controllers: the others of steadyReads leave out what a proof takes.
var wideReads = []steadyRead{
	{"a typed read", 50, nil, nil, readTyped},
	{"an unstructured read", 35, nil, nil, readUnstructured},
	{"a read through KeepOwn", 15, nil, nil, readKept},
}

// TestSteadyWide is TestSteadyProperty of many more kinds: some 45 built-in ones, and custom ones with random schemas. It
// reports how many of all no-ops are recognised.
func TestSteadyWide(t *testing.T) {
	if testing.Short() {
		t.Skip("some minutes of random cases")
	}
	t.Parallel()
	config := steadyConfig(t)
	custom := randomKinds(model.NewDice(kit.Seed(t), 1<<32), 12)
	installKinds(t, config, custom)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	schemas := cached.NewClient(found.OpenAPIV3())
	c := kit.NewClient(t, config)
	run := newSteadyRun(t, kit.Cases(t, 2000), realCheck(t, c, schemas), freshCheck(t, c, schemas))
	run.kinds, run.reads = append(append(builtinKinds(t, c, schemas), custom...), steadyKinds...), wideReads
	run.run(t)
	run.count.report(t)
	for _, lie := range run.count.lies {
		t.Error(lie)
	}
}

// installKinds has the server serve them.
func installKinds(t *testing.T, config *rest.Config, kinds []steadyKind) {
	t.Helper()
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range kinds {
		fields := maps.Clone(kind.forms[0].shape.Fields)
		delete(fields, "metadata") // the server's own
		crds = append(crds, steadyCRD(strings.ToLower(kind.forms[0].Kind)+"s", model.ObjectOf(fields), kind.forms...))
	}
	if err := installCRDs(config, crds); err != nil {
		t.Fatal(err)
	}
	if err := awaitForms(config, kinds); err != nil {
		t.Fatal(err)
	}
}
