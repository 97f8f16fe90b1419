package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestWarningsOnLinesOfTheirOwn has the API server warn while a progress line stands.
func TestWarningsOnLinesOfTheirOwn(t *testing.T) {
	var terminal bytes.Buffer
	stderr := &statusLine{Writer: &terminal}
	warnings := rest.NewWarningWriter(stderr, rest.WarningWriterOptions{})
	progress := auditProgress{out: stderr, width: 80, kinds: 2}
	progress.begin("endpoints")
	warnings.HandleWarningHeader(299, "", "v1 Endpoints is deprecated")
	fmt.Fprintln(stderr, "error: x")
	progress.looking(time.Second)
	warnings.HandleWarningHeader(299, "", "v1 Endpoints is deprecated")
	progress.looking(0)
	progress.end()
	const want = "reading endpoints (kind 1 of 2)" + clearLine + "Warning: v1 Endpoints is deprecated\nerror: x\n" +
		"watching 2 kinds for fights: 1s left" + clearLine + "Warning: v1 Endpoints is deprecated\n" +
		"watching 2 kinds for fights: 0s left" + clearLine
	if got := terminal.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
