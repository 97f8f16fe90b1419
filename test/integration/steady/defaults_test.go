package steady

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestServerDefaults: the server adds what the check takes it to add to values of its own
// kinds that are owned as a whole. Each kind that has one is made by an intent that leaves
// its defaults out, and the next intent is not sent: the object has these defaults and no
// others, and nobody but the server can have set them.
func TestServerDefaults(t *testing.T) {
	t.Parallel()
	config := steadyConfig(t)
	c := kit.NewClient(t, config)
	steady := kit.NewSteadyState(t, config, c)
	applier, err := apply.New(c, apply.Config{FieldManager: kit.OurManager, LiveReader: c, Steady: steady})
	if err != nil {
		t.Fatal(err)
	}
	namespace := kit.NewNamespace(t, c)
	const (
		rule     = "{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothing]}"
		matching = "{resourceRules: [" + rule + "], excludeResourceRules: [" + rule + "]}"
		webhooks = "webhooks: [{name: a.example.com, clientConfig: {url: 'https://example.com/a'}, sideEffects: None, admissionReviewVersions: [v1], rules: [" + rule + "]}]"
	)
	for kind, fields := range map[string]string{
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":        "spec: {matchConstraints: " + matching + ", validations: [{expression: 'true'}]}",
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": "spec: {policyName: none, validationActions: [Audit], matchResources: " + matching + "}",
		"admissionregistration.k8s.io/v1 MutatingAdmissionPolicy": "spec: {reinvocationPolicy: Never, matchConstraints: " + matching +
			`, mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "test", path: "/kind", value: "None"}]'}}]}`,
		"admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding": "spec: {policyName: none, matchResources: " + matching + "}",
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": webhooks,
		"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":   webhooks,
		"networking.k8s.io/v1 NetworkPolicy":                             "spec: {podSelector: {}, ingress: [{ports: [{port: 80}]}], egress: [{ports: [{port: 53, protocol: UDP}, {port: 53}]}]}",
	} {
		version, kind, _ := strings.Cut(kind, " ")
		if strings.HasPrefix(kind, "MutatingAdmissionPolicy") && !kit.ServerAtLeast(t, "1.36.0") {
			continue // not in this version yet
		}
		object := fromYAML(t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: defaults-%s}\n%s\n", version, kind, namespace, fields))
		kit.WaitForSchema(t, steady, object.GroupVersionKind().GroupVersion())
		if kind == "NetworkPolicy" {
			object.SetNamespace(namespace)
		}
		t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), object.DeepCopy()) }) // the server goes, too
		for _, want := range []apply.Action{apply.Created, apply.Unchanged} {
			outcome, err := applier.Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(object)})
			if err != nil || outcome.Action != want || want == apply.Unchanged && outcome.Attempts > 0 {
				t.Errorf("%s: %s with %d attempts, %v; want it %s", kind, outcome.Action, outcome.Attempts, err, want)
			}
		}
	}
}
