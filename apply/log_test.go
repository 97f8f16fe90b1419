package apply_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"coapply.dev/apply"
)

// What was taken from whom is in the log at its usual level, readable as text.
func TestForceIsLogged(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{}))
	s := newScript(t, []step{
		{"PATCH", conflict(hpaReplicas)},
		{"GET", ok(web("uid-1", "7"))},
		{"PATCH", conflict(hpaReplicas)},
		{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
	})
	if _, err := s.applier(force, nil).Apply(ctx, apply.Intent{Config: threeReplicas()}); err != nil {
		t.Fatal(err)
	}
	log := strings.Join(lines, "\n")
	for _, want := range []string{
		"took fields from other managers", ".spec.replicas to 3: owned by hpa/Update[scale] with 5",
		`"fieldManager":"coapply-test"`, `"kind":"Deployment"`, `"shop"`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the log:\n%s", want, log)
		}
	}
}

// TestLogOfWhatGaveWay: the log tells of what is left to others once it has landed, and of
// entries that nobody can read.
func TestLogOfWhatGaveWay(t *testing.T) {
	const left = "left fields to other managers"
	read := step{"GET", ok(web("uid-1", "7"))}
	for reason, c := range map[string]struct {
		steps  []step
		want   string // is in the log
		absent string // is not
	}{
		"it landed":       {gaveWay(), `"Relinquish .spec.replicas to 3: owned by hpa/Update[scale] with 5"`, "cannot be read"},
		"it was refused":  {[]step{{"PATCH", conflict(hpaReplicas)}, read, {"PATCH uid=uid-1", invalid("required")}}, "", left},
		"nobody owned it": {[]step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(ofOthers("uid-1", "7"))}, {"PATCH", ok(web("uid-1", "8"))}}, "", left},
		"a forged entry": {
			[]step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(withBrokenEntry("broken", web("uid-1", "7")))}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))}},
			"cannot read an entry of the managed fields", "",
		},
	} {
		var lines []string
		ctx := logr.NewContext(t.Context(), funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{}))
		_, _ = newScript(t, c.steps).applier(relinquish, nil).Apply(ctx, apply.Intent{Config: threeReplicas()})
		log := strings.Join(lines, "\n")
		if !strings.Contains(log, c.want) || c.absent != "" && strings.Contains(log, c.absent) {
			t.Errorf("%s: want %q and not %q:\n%s", reason, c.want, c.absent, log)
		}
	}
}

// TestLogOfRequests: in detail the log has each write, and says of a dry run that it is one.
func TestLogOfRequests(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 1}))
	s := newScript(t, []step{{"GET", ok(ours("uid-1", "7", "scale"))}, {"MERGE uid=uid-1 resourceVersion=7", ok(web("uid-1", "8"))}})
	if _, err := s.applier(apply.Policy{}, nil).Release(ctx, webAt("")); err != nil {
		t.Fatal(err)
	}
	planned := step{"PATCH", ok(ownedWith("uid-1", "7", 3))}
	s = newScript(t, []step{{"GET", ok(ownedWith("uid-1", "7", 3))}, planned})
	if _, err := s.planner(apply.Config{}, true).Plan(ctx, apply.Intent{Config: threeReplicas()}); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || !strings.Contains(lines[0], `"subresource":"scale","pinnedTo":"7"`) || !strings.Contains(lines[1], `"dryRun":true`) {
		t.Errorf("logged\n%s", strings.Join(lines, "\n"))
	}
}
