package audit

import (
	"bytes"
	"fmt"
	"testing"

	"k8s.io/client-go/rest"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
)

// TestWarningsOnLinesOfTheirOwn has the API server warn while a progress line stands.
func TestWarningsOnLinesOfTheirOwn(t *testing.T) {
	var terminal bytes.Buffer
	stderr := &console.StatusLine{Writer: &terminal}
	warnings := rest.NewWarningWriter(stderr, rest.WarningWriterOptions{})
	stderr.Show("reading endpoints")
	warnings.HandleWarningHeader(299, "", "v1 Endpoints is deprecated")
	fmt.Fprintln(stderr, "error: x")
	stderr.Show("reading pods")
	warnings.HandleWarningHeader(299, "", "v1 Endpoints is deprecated")
	stderr.Show("")
	const want = "reading endpoints" + console.ClearLine + "Warning: v1 Endpoints is deprecated\nerror: x\n" +
		"reading pods" + console.ClearLine + "Warning: v1 Endpoints is deprecated\n"
	if got := terminal.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
