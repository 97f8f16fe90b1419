package platform

import (
	"path/filepath"
	"testing"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestPlatformKeepsItsContract: config/contract.yaml says all that our managers own.
func TestPlatformKeepsItsContract(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "contracted")
	p.createUser()
	p.createLicense(nil)
	p.userIsComplete()
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	here := &kit.Platform{Client: p.Client, Namespace: kit.NewNamespace(t, p.Client)}
	here.Create(t, "box", func(b *v1alpha1.Devbox) { b.Spec.Network.Type = v1alpha1.NetworkNodePort })
	waitForPhase(t, here, "box", v1alpha1.PhaseRunning)
	waitForNetwork(t, here, v1alpha1.NetworkNodePort)
	createNodeSet(t, here, "nodes", 2)
	waitForNodes(t, here, "nodes")

	file := filepath.Join("..", "..", "..", "config", "contract.yaml")
	objects := 0
	for _, args := range [][]string{
		{"-n", here.Namespace}, {"-n", p.namespaceName()},
		{"users,licenses", "--field-selector", "metadata.name=" + p.name},
		{"namespaces", "--field-selector", "metadata.name=" + p.namespaceName()},
	} {
		found := kit.AuditContract(t, p.Config(), file, args...)
		objects += found.Objects
		for _, f := range found.Findings {
			if f.Contract {
				t.Errorf("%v: %+v", args, f)
			}
		}
	}
	if objects < 10 {
		t.Errorf("%d objects are too few to show anything", objects)
	}
}
