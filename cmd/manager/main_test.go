package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// runManager runs the command as outside a cluster and without a kubeconfig.
func runManager(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	var out, errOut bytes.Buffer
	code = run(ctx, args, &out, &errOut)
	return code, out.String(), errOut.String()
}

// wantOneLine expects a failure of one line on stderr that has all the texts.
func wantOneLine(t *testing.T, stderr string, texts ...string) {
	t.Helper()
	if strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") || !strings.HasPrefix(stderr, "manager: ") {
		t.Errorf("stderr is not one line of ours:\n%s", stderr)
	}
	for _, text := range texts {
		if !strings.Contains(stderr, text) {
			t.Errorf("stderr does not say %q:\n%s", text, stderr)
		}
	}
}

func TestWrongCommandLine(t *testing.T) {
	for _, tt := range []struct {
		reason string
		args   []string
		want   []string
	}{
		{"unknown flag", []string{"--nope"}, []string{"unknown flag: --nope", "see manager --help"}},
		{"an argument", []string{"devbox-power"}, []string{`unknown command "devbox-power"`}},
		{"unknown reconciler", []string{"--controllers=other"},
			[]string{`"other"`, "devbox-workload, devbox-power, devbox-network"}},
		{"a typo", []string{"--controllers=devbox-network,devbox-pwoer"}, []string{`no reconciler is called "devbox-pwoer"; choose from devbox-workload, devbox-power,`}},
		{"no reconciler", []string{"--controllers="}, []string{"names none"}},
		{"unknown decision", []string{"--replicas-conflict=Share"}, []string{"must be Reject or Force"}},
		{"no forces", []string{"--forces-per-minute=0"}, []string{"must be 1 or more"}},
		{"a decision for nobody", []string{"--controllers=devbox-network", "--replicas-conflict=Force"},
			[]string{"devbox-power", "does not name"}},
		{"no time to reconcile", []string{"--reconciliation-timeout=0"}, []string{"must be above 0"}},
		{"no number", []string{"--max-concurrent-reconciles=x"}, []string{`--max-concurrent-reconciles is "x", want a whole number; see manager --help`}},
		{"nobody to reconcile", []string{"--max-concurrent-reconciles=0"}, []string{"must be 1 or more"}},
		{"not a duration", []string{"--reconciliation-timeout=1"}, []string{"reconciliation-timeout"}},
		{"negative shutdown", []string{"--graceful-shutdown-timeout=-1s"}, []string{"must be 0 or more"}},
		{"a namespace for no election", []string{"--leader-elect=false", "--leader-elect-namespace=x"}, []string{"contradicts"}},
		{"unknown format", []string{"--log-format=xml"}, []string{"must be json or text"}},
		{"unknown level", []string{"--log-level=11"}, []string{"must be error or info or debug"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			code, stdout, stderr := runManager(t, t.Context(), tt.args...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit code %d, stdout %q, want %d and nothing", code, stdout, exitUsage)
			}
			wantOneLine(t, stderr, tt.want...)
		})
	}
}

// noPorts is what tests start with that are about something else.
var noPorts = []string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}

func TestElectionNeedsNamespaceOutsideACluster(t *testing.T) {
	if _, err := os.Stat(podNamespaceFile); err == nil {
		t.Skip("this test runs in a pod")
	}
	code, _, stderr := runManager(t, t.Context(), noPorts...)
	if code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	wantOneLine(t, stderr, "--leader-elect-namespace", "--leader-elect=false")
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	code, help, stderr := runManager(t, t.Context(), "--help")
	if code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	newCommand(nil).Flags().VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" || !strings.Contains(help, "--"+f.Name) {
			t.Errorf("--help does not explain --%s", f.Name)
		}
	})
	for _, name := range controllerNames() {
		if !strings.Contains(help, name) {
			t.Errorf("--help does not name %s", name)
		}
	}
}

func TestCompletion(t *testing.T) {
	for flag, want := range map[string]string{
		"--controllers": "devbox-network", "--replicas-conflict": "Reject", "--log-format": "text", "--log-level": "debug",
	} {
		code, stdout, _ := runManager(t, t.Context(), "__complete", flag, "")
		if code != exitOK || !slices.Contains(strings.Split(stdout, "\n"), want) {
			t.Errorf("completing %s does not offer %s: exit code %d\n%s", flag, want, code, stdout)
		}
	}
	if code, stdout, _ := runManager(t, t.Context(), "completion", "bash"); code != exitOK || stdout == "" {
		t.Errorf("completion bash: exit code %d, %d bytes", code, len(stdout))
	}
}

func TestVersion(t *testing.T) {
	if code, stdout, _ := runManager(t, t.Context(), "--version"); code != exitOK || !strings.HasPrefix(stdout, "manager version ") {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
}
