package plugin

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// between is a ConfigMap of several owners, and what happens around the first write
// of a command to it.
type between struct {
	*testing.T

	c     client.Client
	ref   apply.ObjectRef
	once  sync.Once
	act   func(*between)
	loses bool // the answer to the write
	eats  bool // the write itself
}

// config leads to the API server through a proxy.
func (b *between) config() *rest.Config {
	b.Helper()
	behind := kit.Server(b)
	target, err := url.Parse(behind.Host)
	if err != nil {
		b.Fatal(err)
	}
	transport, err := rest.TransportFor(behind)
	if err != nil {
		b.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writes := r.Method == http.MethodPatch && !r.URL.Query().Has("dryRun")
		if writes && b.act != nil {
			b.once.Do(func() { b.act(b) })
		}
		if writes && b.eats {
			panic(http.ErrAbortHandler)
		}
		if writes && b.loses {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	b.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

func (b *between) apply(manager string, data map[string]string) {
	b.Helper()
	if err := b.c.Apply(b.Context(), corev1ac.ConfigMap(b.ref.Name, b.ref.Namespace).WithData(data), client.FieldOwner(manager)); err != nil {
		b.Error(err)
	}
}

func (b *between) delete() {
	live := kit.LiveAt(b, b.c, b.ref)
	if err := b.c.Delete(b.Context(), live); err != nil {
		b.Error(err)
	}
}

// data lists "KEY OWNERS" of the data.
func (b *between) data() (lines []string) {
	for _, line := range kit.FieldsBy(b, kit.LiveAt(b, b.c, b.ref).GetManagedFields()) {
		if field, is := strings.CutPrefix(line, ".data."); is {
			lines = append(lines, strings.TrimSuffix(field, " v1"))
		}
	}
	return lines
}

var (
	betweenMigrate = []string{"migrate", "--from", "old", "--to", "ci", "--operation", "Apply"}
	betweenRelease = []string{"release", "--field-manager", "ci"}
)

// Before each of these, a is owned by ci, and b and c by old.
var betweenCases = map[string]struct {
	reason string
	args   []string
	act    func(*between)
	loses  bool
	code   int
	says   string
	undos  int
	data   []string // nil: there is no object
	undone []string // after the command of the undo
}{
	"migrate, an unrelated write": {
		reason: "what was shown moves, and the other write stays", args: betweenMigrate, says: "2 fields moved",
		act:   func(b *between) { b.apply("other", map[string]string{"d": "4"}) },
		undos: 1, data: []string{"a ci/Apply", "b ci/Apply", "c ci/Apply", "d other/Apply"},
		undone: []string{"a ci/Apply", "b old/Apply", "c old/Apply", "d other/Apply"},
	},
	"migrate, something else would move": {
		reason: "nothing moves that was not shown", args: betweenMigrate, code: 2, says: "stale write: ",
		act:  func(b *between) { b.apply("old", map[string]string{"b": "2"}) },
		data: []string{"a ci/Apply", "b old/Apply"},
	},
	"migrate, the receiver came to own it": {
		reason: "the undo leaves it with both", args: betweenMigrate, says: "2 fields moved",
		act:   func(b *between) { b.apply("ci", map[string]string{"a": "1", "b": "2"}) },
		undos: 1, data: []string{"a ci/Apply", "b ci/Apply", "c ci/Apply"},
		undone: []string{"a ci/Apply", "b ci/Apply", "b old/Apply", "c old/Apply"},
	},
	"migrate, deleted": {
		reason: "it is not brought back", args: betweenMigrate, code: 2, says: "uid mismatch: ",
		act: func(b *between) { b.delete() },
	},
	"migrate, the answer is lost": {
		reason: "it has moved, and the undo is there", args: betweenMigrate, loses: true, code: 2, says: "the fields may have moved: check with kubectl fieldowners get; to undo the move, run: kubectl ",
		undos: 1, data: []string{"a ci/Apply", "b ci/Apply", "c ci/Apply"},
		undone: []string{"a ci/Apply", "b old/Apply", "c old/Apply"},
	},
	"release, an unrelated write": {
		reason: "all that ci applied is given up", args: betweenRelease, says: "the fields of ci are given up",
		act:  func(b *between) { b.apply("other", map[string]string{"d": "4"}) },
		data: []string{"b old/Apply", "c old/Apply", "d other/Apply"},
	},
	"release, deleted": {
		reason: "it is not brought back", args: betweenRelease, code: 2, says: "was deleted in the meantime",
		act: func(b *between) { b.delete() },
	},
	"release, the answer is lost": {
		reason: "it was given up, and the command may be repeated", args: betweenRelease, loses: true, code: 2, says: "writing ConfigMap",
		data: []string{"b old/Apply", "c old/Apply"},
	},
}

// TestPluginWriterBetween has others write after the plugin has looked, before its
// write arrives.
func TestPluginWriterBetween(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, test := range betweenCases {
		t.Run(name, func(t *testing.T) {
			t.Log(test.reason)
			object := strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-")
			b := &between{T: t, c: c, act: test.act, loses: test.loses, ref: kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, object)}
			b.apply("ci", map[string]string{"a": "1"})
			b.apply("old", map[string]string{"b": "2", "c": "3"})
			dir := t.TempDir()
			command := kit.KubectlCommand(t, b.config(), append([]string{"fieldowners", test.args[0], "configmap/" + object, "-n", namespace, "--yes"}, test.args[1:]...)...)
			command.Dir = dir
			stdout, stderr, code := kit.OutputOf(t, command)
			if code != test.code || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("exit code %d, %s%s, want %d and %q", code, stdout, stderr, test.code, test.says)
			}
			if files, _ := os.ReadDir(dir); len(files) != test.undos {
				t.Errorf("undo files: %v", files)
			}
			if test.data == nil {
				if err := c.Get(t.Context(), b.ref.NamespacedName, &corev1.ConfigMap{}); client.IgnoreNotFound(err) != nil || err == nil {
					t.Errorf("it is there: %v", err)
				}
				return
			}
			if diff := cmp.Diff(test.data, b.data()); diff != "" {
				t.Errorf("owners (-want +got):\n%s\n%s%s", diff, stdout, stderr)
			}
			if test.undone == nil {
				return
			}
			all := stdout + strings.NewReplacer("to undo the move, run: ", "\n", " (", "\n").Replace(stderr)
			if stdout, stderr, code := shell(t, dir, undoLines(all)[0]); code != 0 {
				t.Errorf("undo: exit code %d, %s%s", code, stdout, stderr)
			}
			if diff := cmp.Diff(test.undone, b.data()); diff != "" {
				t.Errorf("owners after the undo (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPluginInterrupted has a person press Ctrl-C while the write of a migrate is under way: it may
// have landed, so that the undo file stays, and what undoes it is said.
func TestPluginInterrupted(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	args := betweenMigrate
	arrived, ended := make(chan struct{}), make(chan struct{})
	b := &between{
		T: t, c: c, eats: true, ref: kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, args[0]),
		act: func(*between) { close(arrived); <-ended },
	}
	b.apply("ci", map[string]string{"a": "1"})
	b.apply("old", map[string]string{"b": "2"})
	command := kit.KubectlCommand(t, b.config(), append([]string{"fieldowners", args[0], "configmap/" + args[0], "-n", namespace, "--yes"}, args[1:]...)...)
	command.Dir = t.TempDir()
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-arrived
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = command.Wait()
	close(ended)
	if code := command.ProcessState.ExitCode(); code != 130 || !strings.Contains(said.String(), "--undo undo-"+args[0]) || !strings.HasSuffix(said.String(), "interrupted\n") {
		t.Errorf("exit code %d, %s", code, &said)
	}
	if files, _ := os.ReadDir(command.Dir); len(files) != 1 {
		t.Errorf("undo files: %v", files)
	}
}
