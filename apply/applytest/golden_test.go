package applytest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
)

// update makes Golden write its files.
const update = "APPLYTEST_UPDATE"

// intents say everything that an intent can.
func intents() []apply.Intent {
	return []apply.Intent{
		{Config: corev1ac.ConfigMap("settings", "shop").WithData(map[string]string{"b": "two\nlines\n", "a": "1"})},
		{Config: threeReplicas(), MustExist: true},
		{Config: client.ApplyConfigurationFromUnstructured(unstructuredWeb())},
		{Config: appsv1ac.Deployment("web", "shop"), Subresource: "scale", MustExist: true,
			Body: autoscalingv1ac.Scale().WithName("web").WithNamespace("shop").WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(2))},
	}
}

func TestGolden(t *testing.T) {
	applytest.Golden(t, "testdata/intents.yaml", intents()...)
	applytest.Golden(t, "testdata/none.yaml")
}

// kept returns a copy of a golden file, for tests that must not write to it.
func kept(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// golden returns what a test that calls Golden says.
func golden(t *testing.T, file string, intents ...apply.Intent) *testingT {
	t.Helper()
	inner := &testingT{TB: t}
	applytest.Golden(inner, file, intents...)
	return inner
}

func TestGoldenDiffers(t *testing.T) {
	changed := intents()
	changed[1].MustExist = false
	got := golden(t, kept(t, "intents.yaml"), changed...).failures
	for _, want := range []string{
		"intents.yaml (-want +got)", "# MustExist: true", "APPLYTEST_UPDATE=1 go test -run 'TestGoldenDiffers' .",
	} {
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q, want one failure with %q", got, want)
		}
	}
	if got := golden(t, kept(t, "intents.yaml"), intents()[:1]...).failures; len(got) != 1 {
		t.Errorf("an intent is missing: %q", got)
	}
}

func TestGoldenNeedsAFile(t *testing.T) {
	t.Setenv(update, "1")
	if got := golden(t, "", intents()...).failures; len(got) != 1 || !strings.Contains(got[0], "needs the path of a file") {
		t.Errorf("%q", got)
	}
}

func TestGoldenMissing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "one.yaml")
	got := golden(t, file, intents()...).failures
	if len(got) != 1 || !strings.Contains(got[0], "there is no golden file "+file) || !strings.Contains(got[0], "APPLYTEST_UPDATE=1 go test") {
		t.Errorf("%q, want how to write it", got)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("it was written without being asked to: %v", err)
	}

	if got := golden(t, t.TempDir(), intents()...).failures; len(got) != 1 || !strings.Contains(got[0], "reading the golden file") {
		t.Errorf("a folder: %q", got)
	}
}

func TestGoldenIsWritten(t *testing.T) {
	t.Setenv(update, "1")
	file := filepath.Join(t.TempDir(), "new", "one.yaml")
	first := golden(t, file, intents()...)
	if diff := cmp.Diff([]string{"wrote " + file}, append(first.logs, first.failures...)); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if again := golden(t, file, intents()...); len(again.logs)+len(again.failures) > 0 {
		t.Errorf("again: %q %q", again.logs, again.failures)
	}
	if got := golden(t, file, intents()[0]).failures; len(got) > 0 {
		t.Errorf("another content: %q", got)
	}
	t.Setenv(update, "0")
	if got := golden(t, file, intents()[0]).failures; len(got) > 0 {
		t.Errorf("what was written is not what is compared: %q", got)
	}
	if got := golden(t, file).failures; len(got) != 1 {
		t.Errorf("nothing is written with 0: %q", got)
	}
}

func TestGoldenCannotBeWritten(t *testing.T) {
	t.Setenv(update, "yes please")
	if got := golden(t, kept(t, "intents.yaml"), intents()...).failures; len(got) != 1 || !strings.Contains(got[0], `"yes please", but must be 1`) {
		t.Errorf("a value of no meaning: %q", got)
	}
	t.Setenv(update, "true")
	file := filepath.Join("golden_test.go", "one.yaml")
	if got := golden(t, file, intents()...).failures; len(got) != 1 {
		t.Errorf("below a file: %q", got)
	}
	nowhere := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(t.TempDir(), "none", "none"), nowhere); err != nil {
		t.Skip(err)
	}
	for file, want := range map[string]string{nowhere: "writing the golden file: open ", filepath.Join(nowhere, "one.yaml"): "writing the golden file: mkdir "} {
		got := golden(t, file, intents()...)
		if len(got.failures) != 1 || !strings.HasPrefix(got.failures[0], want) || len(got.logs) > 0 {
			t.Errorf("through a link to nowhere: %q %q", got.failures, got.logs)
		}
	}
}

// TestFailuresAreTheCallers: a failure is reported at the line of the test that called.
func TestFailuresAreTheCallers(t *testing.T) {
	inner := &testingT{TB: t}
	applytest.Golden(inner, "")
	applytest.Owns(inner, nil, fromYAML)
	if inner.helpers != 2 {
		t.Errorf("%d functions are helpers, want Golden and Owns", inner.helpers)
	}
}

// What apply refuses is not written.
func TestGoldenRefuses(t *testing.T) {
	t.Setenv(update, "1")
	managed := unstructuredWeb()
	managed.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply"}})
	for reason, tc := range map[string]struct {
		intent apply.Intent
		want   string
	}{
		"no configuration":  {apply.Intent{}, "intent 2 of 2: invalid intent"},
		"a nil one":         {apply.Intent{Config: (*appsv1ac.DeploymentApplyConfiguration)(nil)}, "invalid intent"},
		"holds nothing":     {apply.Intent{Config: client.ApplyConfigurationFromUnstructured(nil)}, "invalid intent"},
		"no name":           {apply.Intent{Config: appsv1ac.Deployment("", "shop")}, "a name is needed"},
		"no kind":           {apply.Intent{Config: &appsv1ac.DeploymentApplyConfiguration{}}, "apiVersion and kind are needed"},
		"managedFields":     {apply.Intent{Config: client.ApplyConfigurationFromUnstructured(managed)}, "metadata.managedFields"},
		"not JSON":          {apply.Intent{Config: client.ApplyConfigurationFromUnstructured(notJSON())}, "invalid intent"},
		"body of no object": {apply.Intent{Config: threeReplicas(), Body: autoscalingv1ac.Scale()}, "invalid intent"},
	} {
		t.Run(reason, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "one.yaml")
			got := golden(t, file, intents()[0], tc.intent).failures
			if len(got) != 1 || !strings.Contains(got[0], tc.want) {
				t.Errorf("%q, want one failure with %q", got, tc.want)
			}
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Errorf("it was written: %v", err)
			}
		})
	}
}

func notJSON() *unstructured.Unstructured {
	object := unstructuredWeb()
	object.Object["spec"] = func() {}
	return object
}
