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
