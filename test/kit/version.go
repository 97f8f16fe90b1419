package kit

import (
	"testing"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
)

// ServerAtLeast reports whether the API server has the given version of Kubernetes or a later one. It is for behaviour
// that differs between versions: the test checks the behaviour of each version.
func ServerAtLeast(t testing.TB, version string) bool {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(Server(t))
	if err != nil {
		t.Fatal(err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	running, err := utilversion.ParseGeneric(info.GitVersion)
	if err != nil {
		t.Fatal(err)
	}
	return running.AtLeast(utilversion.MustParseGeneric(version))
}
