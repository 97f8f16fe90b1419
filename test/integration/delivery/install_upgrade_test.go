package delivery

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers"
	"coapply.dev/test/kit"
)

var besideState = regexp.MustCompile(`(?m)^( +)state:\n`)

// upgrade applies the file of a version whose Devbox has one more field in its spec,
// and the old one again. Nothing is lost, also while an older manager still runs.
func (i *installation) upgrade(t *testing.T) {
	before := i.specs(t)
	file := filepath.Join(i.dir, "dist", "install.yaml")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	newer := besideState.ReplaceAll(old, []byte("${1}novelty:\n$1  type: string\n${1}state:\n"))
	if bytes.Equal(old, newer) {
		t.Fatal("the CRD of Devbox has no spec.state to put another field beside")
	}
	if err := os.WriteFile(file, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	i.apply(t)
	older := i.startManager(t, "--leader-elect-namespace=coapply-system")
	i.kubectl(t, "patch", "devbox", "running", "--type=merge", "-p", `{"spec":{"novelty":"kept","state":"Stopped"}}`)
	i.waitPhase(t, v1alpha1.PhaseStopped)
	if kept := i.kubectl(t, "get", "devbox", "running", "-o", `jsonpath={.spec.novelty}`); kept != "kept" {
		t.Errorf("a manager that does not know the new field made it %q", kept)
	}
	i.kubectl(t, "patch", "devbox", "running", "--type=merge", "-p", `{"spec":{"novelty":null,"state":"Running"}}`)
	i.waitPhase(t, v1alpha1.PhaseRunning)
	older.Stop(t)
	if err := os.WriteFile(file, old, 0o600); err != nil {
		t.Fatal(err)
	}
	i.apply(t)
	if diff := cmp.Diff(before, i.specs(t)); diff != "" {
		t.Errorf("the upgrade and the way back changed specs (-before +after):\n%s", diff)
	}
}

// waitPhase waits for that of the sample running.
func (i *installation) waitPhase(t *testing.T, phase v1alpha1.DevboxPhase) {
	t.Helper()
	kit.WaitFor(t, "the phase "+string(phase), func() string {
		var box v1alpha1.Devbox
		if err := i.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "running"}, &box); err != nil {
			return err.Error()
		}
		if box.Status.Phase != phase {
			return string(box.Status.Phase)
		}
		return ""
	})
}

// specs are what people wrote, by uid: an object that was made again is another one.
func (i *installation) specs(t *testing.T) map[types.UID]any {
	t.Helper()
	specs := map[types.UID]any{}
	for _, object := range i.ours(t) {
		specs[object.GetUID()] = object.Object["spec"]
	}
	return specs
}

// sideBySide runs two managers, each with its own reconcilers. Together they do what
// one does, and then nothing.
func (i *installation) sideBySide(t *testing.T) {
	var old, canary []string
	for _, c := range controllers.All() {
		if c.Name == "devbox-network" {
			canary = append(canary, c.Name)
		} else {
			old = append(old, c.Name)
		}
	}
	first := i.startManager(t, "--leader-elect-namespace=coapply-system", "--controllers="+strings.Join(old, ","))
	second := i.startManager(t, "--leader-elect=false", "--controllers="+strings.Join(canary, ","))
	i.kubectl(t, "patch", "devbox", "running", "--type=merge", "-p", `{"spec":{"network":{"type":"ClusterIP"},"state":"Stopped"}}`)
	i.waitPhase(t, v1alpha1.PhaseStopped)
	kit.WaitFor(t, "the other one does its part", func() string {
		if kind := i.kubectl(t, "get", "service", "running", "-o", "jsonpath={.spec.type}"); kind != "ClusterIP" {
			return kind
		}
		return ""
	})
	i.waitConverged(t)
	kit.WaitFor(t, "rest", func() string {
		before := i.versions(t)
		kit.Absence(t, 3*time.Second, "more writes")
		return cmp.Diff(before, i.versions(t))
	})
	for _, p := range []*kit.Process{first, second} {
		p.Stop(t)
		if strings.Contains(p.Stderr.String(), "OwnershipConflict") {
			t.Errorf("a conflict between the two:\n%s", p.Stderr.String())
		}
	}
}

// versions are the resourceVersions of our objects and of what belongs to them.
func (i *installation) versions(t *testing.T) []string {
	t.Helper()
	all := i.kubectl(t, "get", "devboxes,licenses,nodemaintenances,nodesets,slurmcontrollers,users,deployments,statefulsets,services,resourcequotas,rolebindings",
		"-A", "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
	return slices.Sorted(maps.Keys(asSet(strings.Split(all, "\n"))))
}

func asSet(lines []string) map[string]bool {
	set := map[string]bool{}
	for _, line := range lines {
		set[line] = true
	}
	return set
}
