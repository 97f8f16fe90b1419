package config_test

import (
	"slices"
	"strings"
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

// TestPoliciesKnowThePrefix and nothing of who may use it: that is for RBAC.
func TestPoliciesKnowThePrefix(t *testing.T) {
	bindings := ofKind[admissionv1.ValidatingAdmissionPolicyBinding](t, "ValidatingAdmissionPolicyBinding")
	for name, policy := range ofKind[admissionv1.ValidatingAdmissionPolicy](t, "ValidatingAdmissionPolicy") {
		if name == sizePolicy {
			continue
		}
		var text strings.Builder
		for _, condition := range policy.Spec.MatchConditions {
			text.WriteString(condition.Expression)
		}
		if !strings.Contains(text.String(), `startsWith("`+fieldmanagers.Prefix+`")`) {
			t.Errorf("%s does not match managers that begin with %s", name, fieldmanagers.Prefix)
		}
		for _, validation := range policy.Spec.Validations {
			if strings.Contains(validation.Expression, "username") || !strings.Contains(validation.Expression, "variables.mayUse") {
				t.Errorf("%s decides by something else than the right to use: %s", name, validation.Expression)
			}
		}
		if binding := bindings[name]; binding.Spec.PolicyName != name ||
			!slices.Equal(binding.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) {
			t.Errorf("%s is not bound to deny: %v", name, binding.Spec)
		}
	}
}
