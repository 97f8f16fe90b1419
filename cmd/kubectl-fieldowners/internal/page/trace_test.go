package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/auditlog"
)

// TestTrace: names from an audit log are text, the picture has the busiest managers, and says what is not in it.
func TestTrace(t *testing.T) {
	begin := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	var report auditlog.Report
	for i := range 20 {
		m := auditlog.Move{Time: begin.Add(time.Duration(i) * time.Second), From: fmt.Sprint("m", i), To: "<script>alert(1)</script>"}
		report.Moves = append(report.Moves, m)
		report.Taken = append(report.Taken, &auditlog.Taken{Times: 1, User: "\x1b[31m<b>"})
	}
	report.History = []auditlog.Change{{Time: begin, What: "taken", Path: ".spec.replicas", Manager: "<b>\x1b", From: "ci", Before: "1", After: "2"}}
	var out bytes.Buffer
	if err := Trace(&out, About{Time: begin}, report); err != nil {
		t.Fatal(err)
	}
	html := out.String()
	for _, text := range []string{"<script", "<b>\x1b", "\x1b"} {
		if strings.Contains(html, text) {
			t.Errorf("the page contains %q", text)
		}
	}
	if !strings.Contains(html, "History of the object") || !strings.Contains(html, "1 → 2") {
		t.Error("the page has no history")
	}
	if arrows := strings.Count(html, "<circle"); arrows != mostLanes-1 || !strings.Contains(html, "9 more changes not in the picture") {
		t.Errorf("%d arrows, want %d, and 9 more", arrows, mostLanes-1)
	}
	out.Reset()
	if err := Trace(&out, About{}, auditlog.Report{}); err != nil || strings.Contains(out.String(), "<circle") {
		t.Errorf("an empty report: %v", err)
	}
}
