package kit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// ErrNoPolicies means that the API server has no MutatingAdmissionPolicies: it is older than Kubernetes 1.36.
var ErrNoPolicies = errors.New("MutatingAdmissionPolicies are in Kubernetes 1.36 and later")

// Mutation is a MutatingAdmissionPolicy and its binding. The policy patches an object if the condition When holds.
type Mutation struct {
	Name        string
	Constraints string // in YAML
	When, Patch string // in CEL
}

func (m Mutation) documents() []string {
	head := "apiVersion: admissionregistration.k8s.io/v1\nmetadata: {name: " + m.Name + "}\n"
	return []string{head + fmt.Sprintf(`kind: MutatingAdmissionPolicy
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints: %s
  matchConditions: [{name: when, expression: "%s"}]
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "%s"}}]
`, m.Constraints, m.When, m.Patch),
		head + "kind: MutatingAdmissionPolicyBinding\nspec: {policyName: " + m.Name + "}\n"}
}

// CreatePolicies creates the policies and bindings of mutations.
func CreatePolicies(ctx context.Context, c client.Client, mutations ...Mutation) error {
	return eachPolicy(mutations, func(object client.Object) error {
		err := c.Create(ctx, object)
		if meta.IsNoMatchError(err) {
			return ErrNoPolicies
		}
		return err
	})
}

// eachPolicy calls do with each policy and each binding, until do returns an error.
func eachPolicy(mutations []Mutation, do func(client.Object) error) error {
	for _, mutation := range mutations {
		for _, document := range mutation.documents() {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return err
			}
			if err := do(object); err != nil {
				return err
			}
		}
	}
	return nil
}

// NeedPolicies creates mutations for a test, and deletes them at its end. If the API server has no
// MutatingAdmissionPolicies, the test is skipped.
func NeedPolicies(t *testing.T, c client.Client, mutations ...Mutation) {
	t.Helper()
	err := CreatePolicies(t.Context(), c, mutations...)
	if errors.Is(err, ErrNoPolicies) {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = eachPolicy(mutations, func(object client.Object) error { return c.Delete(context.Background(), object) }) // the next create tells
	})
	if err != nil {
		t.Fatal(err)
	}
}
