package neighbours

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// world is a namespace in which the platform runs, and the commands of its users.
type world struct {
	*kit.Platform
	t          *testing.T
	requests   *kit.RequestLog // of the platform's manager
	kubeconfig string
	watched    []*unstructured.Unstructured // whose owners are recorded
	before     map[string][]string          // their owners after the step before
	record     strings.Builder              // what testdata has
}

// newWorld records the owners of objects such as "Devbox box".
func newWorld(t *testing.T, replicas apply.Decision, watched ...string) *world {
	t.Helper()
	w := startWorld(t, replicas, nil)
	for _, object := range watched {
		kind, name, _ := strings.Cut(object, " ")
		w.watched = append(w.watched, kit.NewUnstructured(apiVersions[kind], kind, client.ObjectKey{Namespace: w.Namespace, Name: name}))
	}
	return w
}

var apiVersions = map[string]string{"Devbox": "platform.coapply.dev/v1alpha1", "Deployment": "apps/v1"}

// newFightingWorld is one whose platform forces the replicas, with a Breaker.
func newFightingWorld(t *testing.T) *world {
	t.Helper()
	forces, err := breaker.New(breaker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return startWorld(t, apply.Force, forces)
}

func startWorld(t *testing.T, replicas apply.Decision, forces *breaker.Breaker) *world {
	t.Helper()
	p := kit.NewPlatform(t)
	p.Breaker = forces
	w := &world{t: t, Platform: p, requests: &kit.RequestLog{}, kubeconfig: kit.Kubeconfig(t, p.Config()), before: map[string][]string{}}
	counted := p.Config()
	counted.Wrap(w.requests.Wrap)
	p.Run(t, counted, replicas)
	return w
}

// kubectl runs kubectl, which has to succeed.
func (w *world) kubectl(args ...string) {
	w.t.Helper()
	w.step("kubectl "+strings.Join(args, " "), func() { w.must(w.kubectlCommand(args...)) })
}

func (w *world) kubectlCommand(args ...string) *exec.Cmd {
	w.t.Helper()
	return w.command(kubectl, args...)
}

func (w *world) command(path string, args ...string) *exec.Cmd {
	w.t.Helper()
	return command(w.t, path, append([]string{"--namespace", w.Namespace, "--kubeconfig", w.kubeconfig}, args...)...)
}

// command prepares a command of a user whose home is empty, and whose editor sets the image's tag to edited.
func command(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), path, args...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "HOME="+home, "KUBE_EDITOR=sed -i s/dev:1/dev:edited/",
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return command
}

func (w *world) must(command *exec.Cmd) {
	w.t.Helper()
	if out, err := command.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %v\n%s", command.Args, err, out)
	}
}

// refused runs a command that has to fail, with an output that contains each of the texts.
func (w *world) refused(command *exec.Cmd, says ...string) {
	w.t.Helper()
	out, err := command.CombinedOutput()
	if err == nil {
		w.t.Errorf("%v succeeded:\n%s", command.Args, out)
	}
	for _, text := range says {
		if !strings.Contains(string(out), text) {
			w.t.Errorf("%v does not say %q:\n%s", command.Args, text, out)
		}
	}
}

// step does what a user does, waits until nothing changes any more, and records which owners came and went.
func (w *world) step(what string, do func()) {
	w.t.Helper()
	do()
	w.settle(2 * time.Second)
	fmt.Fprintf(&w.record, "# %s\n", what)
	for _, object := range w.watched {
		name := object.GetKind() + " " + object.GetName()
		now := w.owners(object)
		for _, line := range changes(w.before[name], now) {
			fmt.Fprintf(&w.record, "%s  %s\n", name, line)
		}
		w.before[name] = now
	}
}

var uids = regexp.MustCompile(`uid="[^"]*"`)

// owners lists "PATH MANAGER" of an object but for its status; nil if it does not exist.
func (w *world) owners(of *unstructured.Unstructured) []string {
	w.t.Helper()
	live := of.DeepCopy()
	switch err := w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(live), live); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		w.t.Fatal(err)
	}
	lines := kit.FieldsBy(w.t, live.GetManagedFields())
	for i, line := range lines { // without the version, which is the same, and uids, which never are
		lines[i] = uids.ReplaceAllString(line[:strings.LastIndex(line, " ")], `uid="UID"`)
	}
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, ".status") })
}

// changes are lines that came (+) and went (-).
func changes(before, now []string) (lines []string) {
	for _, line := range before {
		if !slices.Contains(now, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range now {
		if !slices.Contains(before, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}

// settle waits until no object of the namespace has changed for a while.
func (w *world) settle(rest time.Duration) {
	w.t.Helper()
	versions := func() map[string]string {
		all := w.Versions(w.t)
		maps.DeleteFunc(all, func(name, _ string) bool { return !strings.Contains(name, " "+w.Namespace+"/") })
		return all
	}
	last, since := versions(), time.Now()
	kit.WaitFor(w.t, "nothing moves any more", func() string {
		if now := versions(); !maps.Equal(now, last) {
			diff := cmp.Diff(last, now)
			last, since = now, time.Now()
			return "still moving: " + diff
		}
		if time.Since(since) < rest {
			return "not long enough"
		}
		return ""
	})
}

// finish fails if an object changes after the last step, or ours sends anything but watches, and compares the record with the
// one in testdata, which NEIGHBOURS_UPDATE=1 writes. REST=60s sets how long it watches.
func (w *world) finish() {
	w.t.Helper()
	rest := 3 * time.Second
	if text := os.Getenv("REST"); text != "" {
		var err error
		if rest, err = time.ParseDuration(text); err != nil {
			w.t.Fatalf("REST: %v; it is a duration such as 60s", err)
		}
	}
	w.requests.Take()
	before := w.Versions(w.t)
	kit.Absence(w.t, rest, "anything that moves")
	for name, version := range w.Versions(w.t) {
		if strings.Contains(name, " "+w.Namespace+"/") && before[name] != version {
			w.t.Errorf("%s moved from %s to %s after the last step", name, before[name], version)
		}
	}
	if sent := w.requests.Take(); len(sent) > 0 {
		w.t.Errorf("ours sent %q though nothing was to be done", sent)
	}
	file := filepath.Join("testdata", strings.ReplaceAll(w.t.Name(), "/", "_")+".txt")
	if os.Getenv("NEIGHBOURS_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(w.record.String()), 0o644); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(w.record.String(), "\n")); diff != "" {
		w.t.Errorf("owners are other than in %s (-want +got):\n%s", file, diff)
	}
}

// file writes text to a file of the test's own, and returns its path.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// condition waits until a condition of a Devbox has a status, and reason and message that contain each of the texts.
func (w *world) condition(name, kind string, status bool, says ...string) {
	w.t.Helper()
	kit.WaitFor(w.t, fmt.Sprintf("%s of %s is %v", kind, name, status), func() string {
		box := w.Get(w.t, name, &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
		for _, c := range box.Status.Conditions {
			if c.Type != kind {
				continue
			}
			text := c.Reason + ": " + c.Message
			for _, want := range says {
				if !strings.Contains(text, want) {
					return fmt.Sprintf("it does not say %q: %s", want, text)
				}
			}
			of := c.ObservedGeneration == box.Generation
			if (c.Status == "True") == status && of {
				return ""
			}
		}
		return fmt.Sprintf("conditions are %v", box.Status.Conditions)
	})
}
