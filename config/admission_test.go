package config_test

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

// sizePolicy is about the size of metadata, the others about our field managers' names.
const sizePolicy = "coapply-metadata-size"

// TestPoliciesCoverWhatIsClaimed: a kind that no policy names is one where anybody may
// take our names, and so is a subresource.
func TestPoliciesCoverWhatIsClaimed(t *testing.T) {
	for name, policy := range ofKind[admissionv1.ValidatingAdmissionPolicy](t, "ValidatingAdmissionPolicy") {
		covered := covered(&policy)
		for _, claim := range fieldmanagers.All() {
			resource := resourceOf(t, claim.Kind)
			if name == sizePolicy && resource.Group != v1alpha1.SchemeGroupVersion.Group {
				continue
			}
			all := resource
			all.Resource += "/*"
			if !covered[resource] || name != sizePolicy && !covered[all] {
				t.Errorf("%s does not cover all of %s, of which %s owns fields", name, resource, claim.Manager)
			}
		}
	}
}

func covered(policy *admissionv1.ValidatingAdmissionPolicy) map[schema.GroupResource]bool {
	covered := map[schema.GroupResource]bool{}
	for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
		for _, resource := range rule.Resources {
			covered[schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}] = true
		}
	}
	return covered
}

func resourceOf(t *testing.T, kind schema.GroupKind) schema.GroupResource {
	t.Helper()
	for _, ours := range kinds(t) {
		if ours.Spec.Group == kind.Group && ours.Spec.Names.Kind == kind.Kind {
			return schema.GroupResource{Group: kind.Group, Resource: ours.Spec.Names.Plural}
		}
	}
	guessed, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return guessed.GroupResource()
}

// TestPoliciesDeny: the policies would change nothing without their bindings. That they deny what they should is tested on
// an API server, in test/integration/delivery.
func TestPoliciesDeny(t *testing.T) {
	bindings := ofKind[admissionv1.ValidatingAdmissionPolicyBinding](t, "ValidatingAdmissionPolicyBinding")
	for name := range ofKind[admissionv1.ValidatingAdmissionPolicy](t, "ValidatingAdmissionPolicy") {
		if binding := bindings[name]; binding.Spec.PolicyName != name ||
			!slices.Equal(binding.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) {
			t.Errorf("%s is not bound to deny: %v", name, binding.Spec)
		}
	}
}
