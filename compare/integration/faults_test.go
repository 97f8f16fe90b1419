package compare

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
	"coapply.dev/compare/bench"
	"coapply.dev/compare/commands"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/test/kit"
)

// The API server goes away during the second of four trials: that one is void, the others count, and the report is made.
func TestCompareRunOutlivesItsServer(t *testing.T) {
	t.Parallel()
	config := kit.Server(t)
	line := newCable(t, strings.Trim(strings.TrimPrefix(config.Host, "https:"), "/"))
	config.Host = "https://" + line.at
	kubeconfig, dir := kubeconfigOf(t, config), filepath.Join(t.TempDir(), "run")

	cell := compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{
		Writers: 4, Objects: 1, Managers: 4, Warmup: 50 * time.Millisecond, Duration: 400 * time.Millisecond,
	}}
	const seed = 1 // begins with the cell that has no controls: without those the run would be void
	var said bytes.Buffer
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		cutInSecondTrial(t.Context(), line, filepath.Join(dir, results.TrialsFile))
	}()
	err := bench.Run(t.Context(), bench.Options{
		Catalogue: commands.Catalogue(), Dir: dir, Progress: &said,
		Open: func(ctx context.Context) (*target.Target, error) {
			return target.Connect(ctx, target.Options{Kubeconfig: kubeconfig, Log: &said}, func(string) (bool, error) { return true, nil })
		},
		Run: results.Run{Command: "compare run", Seed: seed, Profile: bench.Custom, Decided: decided.Hash(), Plan: []results.PlannedCell{
			{Cell: cell, Arms: []string{"ssa", "gmu-requeue"}, Blocks: 1, Baseline: "ssa"},
			{Cell: cell, Arms: []string{"put-no-rv", "shared-manager"}, Blocks: 1, Control: true},
		}},
	})
	<-cut
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	run, trials, err := results.Load(dir)
	if err != nil || len(trials) != 4 || run.Interrupted != "" {
		t.Fatalf("%d trials, interrupted %q, %v", len(trials), run.Interrupted, err)
	}
	for i, trial := range trials {
		unreachable := strings.Contains(trial.Void, "cannot be reached") || strings.Contains(trial.Void, "connection") // or while it prepares
		if unreachable != (i == 1) || !unreachable && trial.Void != "" {
			t.Errorf("%s: void %q", trial.ID, trial.Void)
		}
	}
	if !strings.Contains(said.String(), trials[1].ID+": trial 2 of 4, void: ") {
		t.Errorf("what is void is not said:\n%s", &said)
	}
	renderTwice(t, dir)
}

// cutInSecondTrial cuts the line when the first trial is saved, and mends it when the second is.
func cutInSecondTrial(ctx context.Context, line *cable, trials string) {
	saved := func(n int) {
		for ctx.Err() == nil {
			if content, err := os.ReadFile(trials); err == nil && bytes.Count(content, []byte("\n")) >= n {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	saved(1)
	line.cut()
	saved(2)
	line.mend()
}

// On a cluster of the user's: nothing without a yes, and nothing left behind after one.
func TestCompareRunAsksFirst(t *testing.T) {
	t.Parallel()
	admin := kit.NewClient(t, kit.Server(t))
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{
		"run", "--workload", "hot-object", "--arms", "ssa", "--writers", "4", "--trials", "1", "--warmup", "0", "--duration", "300ms",
		"--kubeconfig", kubeconfigOf(t, kit.Server(t)), "-o", dir,
	}
	attempt := func(answer string, args ...string) (code int, said string) {
		var out, stderr bytes.Buffer
		streams := commands.Streams{In: strings.NewReader(answer), Out: &out, Err: &stderr}
		return commands.Run(t.Context(), commands.Catalogue(), args, streams), stderr.String()
	}
	for _, answer := range []string{"n\n", "", "\n"} {
		code, said := attempt(answer, args...)
		namespace := regexp.MustCompile(`creates the namespace (compare-[a-z0-9]+), writes only in this namespace`).FindStringSubmatch(said)
		if code != 2 || namespace == nil || !strings.Contains(said, "nothing was") {
			t.Fatalf("answer %q: %d, %s", answer, code, said)
		}
		if err := admin.Get(t.Context(), client.ObjectKey{Name: namespace[1]}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
			t.Errorf("answer %q: the namespace: %v; want none", answer, err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("answer %q: a folder without a run is left: %v", answer, err)
		}
	}
	code, said := attempt("", append(args, "--yes")...)
	namespace := regexp.MustCompile(`creating the namespace (\S+)`).FindStringSubmatch(said)
	if code != 0 || namespace == nil || strings.Contains(said, "[y/N]") {
		t.Fatalf("with --yes: %d, %s", code, said)
	}
	if _, trials, err := results.Load(dir); err != nil || len(trials) != 6 { // the arm twice, two controls twice
		t.Errorf("%d trials, %v", len(trials), err)
	}
	var left corev1.Namespace
	if err := admin.Get(t.Context(), client.ObjectKey{Name: namespace[1]}, &left); !apierrors.IsNotFound(err) && left.DeletionTimestamp == nil {
		t.Errorf("the namespace %s stays: %v", namespace[1], err)
	}
	wantNothingOf(t, admin, namespace[1])
}
