package update_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"coapply.dev/apply/update"
)

// What is logged of a call with one stale write; level 1 is the detail.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod())
		s.puts = []answer{with(staleWrite())}
		object := cached(t, s, pod())

		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})
		ctx := logr.NewContext(t.Context(), log)
		if _, err := update.Do(ctx, s.updaterWith(t, update.Exponential), object, label); err != nil {
			t.Fatal(err)
		}
		const call = `"verb"="Do" "fieldManager"="test" "kind"="Pod" "object"={"name"="pod" "namespace"="ns"} `
		for i := range lines {
			lines[i] = strings.Replace(lines[i], call, "", 1)
		}
		want := []string{
			`"level"=1 "msg"="attempt" "attempt"=1 "of"=4 "after"="0s" "resourceVersion"="999"`,
			`"level"=0 "msg"="stale write" "attempt"=1 "of"=4 "warning"=true "resourceVersion"="999" ` +
				`"error"="Operation cannot be fulfilled on pods \"pod\": the object has been modified"`,
			`"level"=0 "msg"="attempt" "attempt"=2 "of"=4 "after"="100ms" "resourceVersion"="999"`,
			`"level"=0 "msg"="written" "attempt"=2 "of"=4 "resourceVersion"="1000" "changed"=true`,
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
