package apply_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
)

// What was taken from whom is in the log at its usual level, readable as text.
func TestForceIsLogged(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{}))
	if _, err := newWorld(t).applier(force).Apply(ctx, apply.Intent{Config: threeReplicas()}); err != nil {
		t.Fatal(err)
	}
	log := strings.Join(lines, "\n")
	for _, want := range []string{
		"resolved ownership conflicts according to the policy", ".spec.replicas to 3: owned by hpa/Update[scale] with value 5",
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
	for reason, c := range map[string]struct {
		happens func(*world)
		want    string // is in the log
		absent  string // is not
	}{
		"it landed":       {func(*world) {}, `"Relinquish .spec.replicas to 3: owned by hpa/Update[scale] with value 5"`, "cannot be read"},
		"it was refused":  {fails(3, forbidden), "", left},
		"nobody owned it": {before(2, alone), "", left},
		"a forged entry":  {owned(hpa, kubectl, entry("forger", "Update", "", deep(""))), "cannot read an entry of the managed fields", ""},
	} {
		var lines []string
		ctx := logr.NewContext(t.Context(), funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{}))
		w := newWorld(t)
		c.happens(w)
		_, _ = w.applier(relinquish).Apply(ctx, apply.Intent{Config: threeReplicas()})
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
	w := newWorld(t, entriesOf("scale")...)
	version := w.Live().ResourceVersion
	if _, err := ownership.Release(ctx, w.applier(apply.Policy{}), webAt("")); err != nil {
		t.Fatal(err)
	}
	alone(w)
	if _, err := w.applier(apply.Policy{}).Plan(ctx, apply.Intent{Config: threeReplicas()}); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || !strings.Contains(lines[0], `"subresource":"scale","pinnedTo":"`+version+`"`) || !strings.Contains(lines[1], `"dryRun":true`) {
		t.Errorf("logged\n%s", strings.Join(lines, "\n"))
	}
}
