package explain_test

import (
	"fmt"
	"testing"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
)

// TestNamesWhatItCan has no object at hand: a field has a path where the server's
// string means one thing only.
func TestNamesWhatItCan(t *testing.T) {
	for server, want := range map[string]string{
		".spec.replicas":                                   ".spec.replicas",
		".spec.strategy.type":                              ".spec.strategy.type",
		".data.x":                                          ".data.x",
		".metadata.annotations.example.com/team":           `.metadata.annotations["example.com/team"]`,
		".metadata.labels.app.kubernetes.io/name":          `.metadata.labels["app.kubernetes.io/name"]`,
		`.metadata.finalizers[="a.b/c"]`:                   `.metadata.finalizers[="a.b/c"]`,
		`.spec.ports[port=80,protocol="TCP"].name`:         `.spec.ports[port=80,protocol="TCP"].name`,
		`.spec.template.spec.containers[name="web"].image`: `.spec.template.spec.containers[name="web"].image`,
		`.status.conditions[type="Ready"].status`:          `.status.conditions[type="Ready"].status`,
		".data.a.b":                       "", // "a.b", or b below a
		".spec.config.log.level":          "",
		".spec.selector.matchLabels.app":  "",
		".spec.other.metadata.labels.a.b": "",
		`.spec.template.spec.containers[name="web"].resources.limits.cpu`: "",
		`.spec.template.spec.containers[name="web"].resources.limits`:     `.spec.template.spec.containers[name="web"].resources.limits`,
		".metadata.labels.": "",
		".data.[0]":         "",
		`.spec["x"]`:        "",
		".y: z":             "",
		".":                 "",
		"spec":              "",
		".spec.rules[":      "",
	} {
		answer := fmt.Sprintf("Apply failed with 1 conflict: conflict with \"m\": %s\n", server)
		explanations, err := explain.Answer([]byte(answer), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", server, err)
			continue
		}
		if got := explanations[0].Conflicts[0].Path.String(); got != want {
			t.Errorf("%s is taken for %q, want %q", server, got, want)
		}
	}
}
