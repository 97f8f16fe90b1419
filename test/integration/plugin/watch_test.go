package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// watching is kubectl fieldowners watch as it runs.
type watching struct {
	command     *exec.Cmd
	out, errOut output
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startWatch returns when everything that is watched has been listed.
func startWatch(t *testing.T, config *rest.Config, targets int, args ...string) *watching {
	t.Helper()
	w := &watching{command: kit.KubectlCommand(t, config, append([]string{"fieldowners", "watch"}, args...)...)}
	w.command.Stdout, w.command.Stderr = &w.out, &w.errOut
	w.command.Cancel = func() error { return w.command.Process.Signal(os.Interrupt) }
	w.command.WaitDelay = kit.Patience
	if err := w.command.Start(); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, "the watch has begun", func() string {
		if got := strings.Count(w.errOut.String(), "watching "); got < targets {
			return fmt.Sprintf("%d of %d: %s", got, targets, w.errOut.String())
		}
		return ""
	})
	return w
}

// wait waits until so many lines say something.
func (w *watching) wait(t *testing.T, lines int, text string) {
	t.Helper()
	kit.WaitFor(t, text, func() string {
		if got := strings.Count(w.out.String(), text); got < lines {
			return fmt.Sprintf("%d lines with %s, want %d, in\n%s%s", got, text, lines, w.out.String(), w.errOut.String())
		}
		return ""
	})
}

// interrupt ends the watch as Ctrl-C does.
func (w *watching) interrupt(t *testing.T) {
	t.Helper()
	if err := w.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	w.end(t, 130)
}

func (w *watching) end(t *testing.T, code int) {
	t.Helper()
	_ = w.command.Wait() // says no more than the exit code
	if got := w.command.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d: %s", got, code, w.errOut.String())
	}
}

// seen is a line of -o json, as its documentation has it.
type seen struct {
	Time                                             time.Time
	Type, Kind, Namespace, Name, UID                 string
	Path, ServerPath                                 string
	From, To                                         *seenOwner
	Managers                                         []seenOwner
	Times                                            int
	Sum                                              bool
	APIVersion, FromResourceVersion, ResourceVersion string
}

type seenOwner struct{ Name, Operation, Subresource string }

func (o *seenOwner) String() string {
	if o == nil {
		return "nobody"
	}
	return fieldowners.Manager{Name: o.Name, Operation: metav1.ManagedFieldsOperationType(o.Operation), Subresource: o.Subresource}.String()
}

func (w *watching) events(t *testing.T) []seen {
	t.Helper()
	var all []seen
	for line := range strings.Lines(w.out.String()) {
		var one seen
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		all = append(all, one)
	}
	return all
}

// writer writes one field in turn with others.
type writer func(ctx context.Context, c client.Client, namespace string, value int32) error

func applies(manager string) writer {
	return func(ctx context.Context, c client.Client, namespace string, value int32) error {
		return c.Apply(ctx, kit.Replicas("web", namespace, value), client.FieldOwner(manager), client.ForceOwnership)
	}
}

func updates(manager string) writer {
	return func(ctx context.Context, c client.Client, namespace string, value int32) error {
		var live appsv1.Deployment
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &live); err != nil {
			return err
		}
		live.Spec.Replicas = &value
		return c.Update(ctx, &live, client.FieldOwner(manager))
	}
}

func scales(manager string) writer {
	return func(ctx context.Context, c client.Client, namespace string, value int32) error {
		live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: value}}
		return c.SubResource("scale").Update(ctx, live, client.WithSubResourceBody(scale), client.FieldOwner(manager))
	}
}

func TestWatchTellsOfFights(t *testing.T) {
	for _, test := range []struct {
		reason  string
		writers []writer
		want    []string // "" is no fight
	}{
		{"two appliers that force", []writer{applies("ci"), applies("hand")}, []string{"ci/Apply, hand/Apply"}},
		{"kubectl scale and an applier", []writer{scales("kubectl"), applies("ci")}, []string{"ci/Apply, kubectl/Update[scale]"}},
		{"values, by updates", []writer{updates("hpa"), updates("script")}, []string{"hpa/Update, script/Update"}},
		{"three in turn", []writer{applies("a"), updates("b"), scales("c")},
			[]string{"a/Apply, b/Update, c/Update[scale]"}},
		{"one alone", []writer{applies("ci"), applies("ci")}, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			c := kit.NewClient(t, kit.Server(t))
			namespace := kit.NewNamespace(t, c)
			if err := c.Apply(t.Context(), kit.Deployment("web", namespace, "v1"), client.FieldOwner("creator")); err != nil {
				t.Fatal(err)
			}
			w := startWatch(t, kit.Server(t), 1, "deployments", "-n", namespace, "--only-fights", "--fights-per-minute", "3", "-o", "json", "--timeout", "15s")
			for i := range 4 * len(test.writers) {
				if err := test.writers[i%len(test.writers)](t.Context(), c, namespace, int32(i)); err != nil {
					t.Fatal(err)
				}
			}
			code := 0
			if len(test.want) > 0 {
				code = 1
			}
			w.end(t, code)
			var got []string
			for _, e := range w.events(t) {
				if e.Type != "fight" || e.Path != ".spec.replicas" || e.Name != "web" || e.Times != 4 {
					t.Errorf("%+v", e)
				}
				var managers []string
				for i := range e.Managers {
					managers = append(managers, e.Managers[i].String())
				}
				got = append(got, strings.Join(managers, ", "))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("fights (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWatchText is what a person sees.
func TestWatchText(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	w := startWatch(t, kit.Server(t), 1, "configmaps,cm", "-n", namespace, "--fights-per-minute", "1") // one type, twice
	config := func(value string) *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap("shop", namespace).WithData(map[string]string{"a.b": value})
	}
	for _, write := range []func() error{
		func() error { return c.Apply(t.Context(), config("1"), client.FieldOwner("ci")) },
		func() error { return c.Apply(t.Context(), config("1"), client.FieldOwner("hand")) },
		func() error { return c.Apply(t.Context(), config("2"), client.FieldOwner("ci"), client.ForceOwnership) },
		func() error {
			other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Data: map[string]string{"a.b": "3"}}
			return c.Update(t.Context(), other, client.FieldOwner("other"))
		},
		func() error { return c.Apply(t.Context(), config("4"), client.FieldOwner("ci"), client.ForceOwnership) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, 1, "deleted")
	w.interrupt(t)
	var got []string
	for line := range strings.Lines(w.out.String()) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), " ") // the time
		text, _, _ = strings.Cut(text, ", since ")
		got = append(got, strings.ReplaceAll(text, namespace, "NS"))
	}
	want := []string{
		"ConfigMap NS/shop: created, owned by ci/Apply",
		`ConfigMap NS/shop .data["a.b"]: gained by hand/Apply`,
		`ConfigMap NS/shop .data["a.b"]: lost by hand/Apply`,
		`ConfigMap NS/shop .data["a.b"]: ci/Apply -> other/Update`,
		`ConfigMap NS/shop .data["a.b"]: other/Update -> ci/Apply`,
		`FIGHT ConfigMap NS/shop .data["a.b"]: ci/Apply and other/Update took the field from each other 2 times in a minute`,
		"ConfigMap NS/shop: deleted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines without their times (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(w.errOut.String(), "interrupted\n") {
		t.Errorf("stderr: %q", w.errOut.String())
	}
}
