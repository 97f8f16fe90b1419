package plugin

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

const tour = "../../../docs/fieldowners.md"

// TestTour runs every command of docs/fieldowners.md, from the first to the last, and
// holds what is printed against what the guide shows. UPDATE_DOCS=1 writes the guide
// anew.
func TestTour(t *testing.T) {
	content, err := os.ReadFile(tour)
	if err != nil {
		t.Fatal(err)
	}
	world := tourWorld(t)
	t.Cleanup(func() { eraseShop(t) }) // the guide makes it, each time
	parts := strings.Split(string(content), "```")
	ran := 0
	for i := 1; i < len(parts); i += 2 { // text and blocks take turns
		script, isCommands := strings.CutPrefix(parts[i], "sh\n")
		if !isCommands || strings.HasPrefix(script, "make") {
			continue
		}
		got := world.run(t, script)
		ran++
		if script == "kubectl fieldowners deployment/web --path .metadata\n" {
			holdReadme(t, world)
		}
		shows := i+2 < len(parts) && strings.TrimSpace(parts[i+1]) == "" && strings.HasPrefix(parts[i+2], "text\n")
		switch {
		case !shows && got != "":
			t.Errorf("the guide does not show that\n%sprints\n%s", script, got)
		case !shows:
		case os.Getenv("UPDATE_DOCS") == "1":
			parts[i+2] = "text\n" + got
		default:
			want := strings.TrimPrefix(parts[i+2], "text\n")
			if diff := cmp.Diff(kit.Timeless(want), kit.Timeless(got)); diff != "" {
				t.Errorf("%s (-guide +now):\n%s", script, diff)
			}
		}
	}
	if ran < 9 {
		t.Errorf("only %d blocks of commands", ran)
	}
	if os.Getenv("UPDATE_DOCS") == "1" {
		if err := os.WriteFile(tour, []byte(strings.Join(parts, "```")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// eraseShop removes the namespace of the guide, as the namespace controller does, which is not there.
func eraseShop(t *testing.T) {
	t.Helper()
	c, ctx := kit.NewClient(t, kit.Server(t)), context.Background()
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	err := errors.Join(c.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(shop.Name)), c.Delete(ctx, shop))
	if err == nil {
		err = c.Get(ctx, client.ObjectKeyFromObject(shop), shop)
	}
	if err == nil {
		shop.Spec.Finalizers = nil
		err = c.SubResource("finalize").Update(ctx, shop)
	}
	if err != nil {
		t.Error(err)
	}
}

// tourist is a person with a shell, a kubectl, a namespace, and the folder bin as
// make build leaves it.
type tourist struct {
	dir     string
	env     []string
	exports string // what was exported so far: each block is run by a shell of its own
}

func tourWorld(t *testing.T) *tourist {
	t.Helper()
	command := kit.KubectlCommand(t, kit.Server(t))
	w := &tourist{dir: t.TempDir()}
	tools := t.TempDir()
	w.env = slices.Concat(command.Env, []string{"COLUMNS=80", "PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH")})
	bin, err := kit.BuiltCommands()
	if err := errors.Join(err,
		os.Symlink(command.Path, filepath.Join(tools, "kubectl")),
		os.Symlink(bin, filepath.Join(w.dir, "bin")),
	); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../docs/fieldowners/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files for the guide:", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(w.dir, filepath.Base(file)), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run gives what the commands print, on both streams; many end with an exit code that
// says what they found. None takes minutes: then one waits for what does not come.
func (w *tourist) run(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kit.Patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "/bin/sh", "-c", w.exports+script)
	shell.Dir, shell.Env = w.dir, w.env
	shell.WaitDelay = time.Second // what runs in the background has the same output
	out, err := shell.CombinedOutput()
	if shell.ProcessState == nil || ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("%s\ndoes not end: %v\n%s", script, err, out)
	}
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "export ") {
			w.exports += line
		}
	}
	return string(out)
}
