package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tour = "../../docs/fieldowners.md"

// TestTour runs every command of docs/fieldowners.md, from the first to the last, and
// holds what is printed against what the guide shows. UPDATE_DOCS=1 writes the guide
// anew.
func TestTour(t *testing.T) {
	content, err := os.ReadFile(tour)
	if err != nil {
		t.Fatal(err)
	}
	world := tourWorld(t)
	parts := strings.Split(string(content), "```")
	ran := 0
	for i := 1; i < len(parts); i += 2 { // text and blocks take turns
		script, isCommands := strings.CutPrefix(parts[i], "sh\n")
		if !isCommands || strings.HasPrefix(script, "make") {
			continue
		}
		got := world.run(t, script)
		ran++
		shows := i+2 < len(parts) && strings.TrimSpace(parts[i+1]) == "" && strings.HasPrefix(parts[i+2], "text\n")
		switch {
		case !shows && got != "":
			t.Errorf("the guide does not show that\n%sprints\n%s", script, got)
		case !shows:
		case os.Getenv("UPDATE_DOCS") == "1":
			parts[i+2] = "text\n" + got
		default:
			want := strings.TrimPrefix(parts[i+2], "text\n")
			if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Errorf("%s (-guide +now):\n%s", script, diff)
			}
		}
	}
	if ran < 10 {
		t.Errorf("only %d blocks of commands", ran)
	}
	if os.Getenv("UPDATE_DOCS") == "1" {
		if err := os.WriteFile(tour, []byte(strings.Join(parts, "```")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tourist is a person with a shell, a kubectl with the plugin, and a namespace.
type tourist struct {
	dir string
	env []string
}

func tourWorld(t *testing.T) tourist {
	t.Helper()
	command := kubectlCommand(t, server(t))
	w := tourist{dir: t.TempDir(), env: append(command.Env, "COLUMNS=80")}
	if err := os.Symlink(command.Path, filepath.Join(w.dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "PATH="+w.dir+string(os.PathListSeparator)+pathOf(w.env))
	files, err := filepath.Glob("../../docs/fieldowners/*.yaml")
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

func pathOf(env []string) string {
	path := ""
	for _, variable := range env {
		if value, is := strings.CutPrefix(variable, "PATH="); is {
			path = value
		}
	}
	return path
}

// run gives what the commands print, on both streams; many end with an exit code that
// says what they found.
func (w tourist) run(t *testing.T, script string) string {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	shell.Dir, shell.Env = w.dir, w.env
	out, err := shell.CombinedOutput()
	if shell.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out)
}

var variable = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`\b\d+(ms|s|m|h|d)\b`), "AGE"},
	{regexp.MustCompile(`-\d+\.(yaml|json)`), "-VERSION.$1"},
	{regexp.MustCompile(`go\d[\w.]* commit \w+`), "GO"},
	{regexp.MustCompile(` +`), " "}, // columns are as wide as what stands in them
}

// timeless leaves out what is another one each time.
func timeless(text string) string {
	for _, v := range variable {
		text = v.pattern.ReplaceAllString(text, v.text)
	}
	return text
}
