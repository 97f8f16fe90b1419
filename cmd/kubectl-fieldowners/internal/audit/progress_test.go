package audit

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
)

// TestWarningsOnLinesOfTheirOwn has the API server warn while a progress line stands.
func TestWarningsOnLinesOfTheirOwn(t *testing.T) {
	var terminal bytes.Buffer
	stderr := &console.StatusLine{Writer: &terminal}
	warnings := rest.NewWarningWriter(stderr, rest.WarningWriterOptions{})
	progress := progress{out: stderr, width: 80, kinds: 2}
	progress.begin("endpoints")
	warnings.HandleWarningHeader(299, "", "v1 Endpoints is deprecated")
	fmt.Fprintln(stderr, "error: x")
	progress.lastSaid = time.Time{}
	progress.begin("pods")
	warnings.HandleWarningHeader(299, "", "v1 Endpoints is deprecated")
	progress.end()
	const want = "reading endpoints (kind 1 of 2)" + console.ClearLine + "Warning: v1 Endpoints is deprecated\nerror: x\n" +
		"reading pods (kind 2 of 2)" + console.ClearLine + "Warning: v1 Endpoints is deprecated\n"
	if got := terminal.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
