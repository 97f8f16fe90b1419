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
	progress.looking(time.Second)
	warnings.HandleWarningHeader(299, "", "v1 Endpoints is deprecated")
	progress.looking(0)
	progress.end()
	const want = "reading endpoints (kind 1 of 2)" + console.ClearLine + "Warning: v1 Endpoints is deprecated\nerror: x\n" +
		"watching 2 kinds for fights: 1s left" + console.ClearLine + "Warning: v1 Endpoints is deprecated\n" +
		"watching 2 kinds for fights: 0s left" + console.ClearLine
	if got := terminal.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
