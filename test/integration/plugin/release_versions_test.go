package plugin

import (
	"strings"
	"testing"

	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// TestPluginReleaseInAnotherVersion has fields named in an older version than the one
// that kubectl prefers: the undo is in theirs.
func TestPluginReleaseInAnotherVersion(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	other := autoscalingv2ac.HorizontalPodAutoscaler("h", namespace).WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().
		WithMaxReplicas(5).WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().WithKind("Deployment").WithName("d").WithAPIVersion("apps/v1")))
	ours := autoscalingv1ac.HorizontalPodAutoscaler("h", namespace).WithLabels(map[string]string{"team": "shop"}).
		WithSpec(autoscalingv1ac.HorizontalPodAutoscalerSpec().WithTargetCPUUtilizationPercentage(70).WithMaxReplicas(5))
	if err := c.Apply(t.Context(), other, client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), ours, client.FieldOwner("ci")); err != nil {
		t.Fatal(err)
	}
	ref := kit.RefOf("autoscaling/v2", "HorizontalPodAutoscaler", namespace, "h")
	owners, values := ownersAndValues(t, c, ref)
	dir := t.TempDir()
	stdout, stderr, code := pluginIn(t, dir, "release", "hpa/h", "-n", namespace, "--field-manager", "ci", "--yes")
	commands := undoLines(stdout)
	if code != 0 || stderr != "" || len(commands) != 1 {
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	if after, _ := ownersAndValues(t, c, ref); strings.Contains(strings.Join(after, "\n"), " ci/") {
		t.Errorf("not given up: %q", after)
	}
	if stdout, stderr, code := shell(t, dir, commands[0]); code != 0 {
		t.Errorf("undo: exit code %d, %s%s", code, stdout, stderr)
	}
	checkRestored(t, c, ref, owners, values)
}
