package kit

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// ErrNoPolicies means that the API server has no MutatingAdmissionPolicies: it is older than Kubernetes 1.36.
var ErrNoPolicies = errors.New("MutatingAdmissionPolicies are in Kubernetes 1.36 and later")

// CreatePolicies creates the MutatingAdmissionPolicies and bindings of a YAML file.
func CreatePolicies(ctx context.Context, c client.Client, file string) error {
	for document := range strings.SplitSeq(file, "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return err
		}
		err := c.Create(ctx, object)
		if meta.IsNoMatchError(err) {
			return ErrNoPolicies
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// NeedPolicies creates them for a test, which is skipped where there are none.
func NeedPolicies(t *testing.T, c client.Client, file string) {
	t.Helper()
	err := CreatePolicies(t.Context(), c, file)
	if errors.Is(err, ErrNoPolicies) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
