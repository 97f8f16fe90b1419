package trace

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"coapply.dev/cmd/kubectl-fieldowners/internal/auditlog"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

const log = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete","verb":"patch",
"user":{"username":"system:serviceaccount:continuous-integration:deployer"},"userAgent":"ci/v1","requestURI":"/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=MANAGER",
"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","apiVersion":"v1"},"responseStatus":{"code":200},
"responseObject":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"RV","managedFields":[
{"manager":"MANAGER","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]},"spec":{"replicas":RV}},
"requestReceivedTimestamp":"2026-11-29T10:0RV:00.000000Z","stageTimestamp":"2026-11-29T10:0RV:00.000000Z"}`

// TestPrintedWidth: the report fits a terminal of 80 columns, where rows of wide tables become lines.
func TestPrintedWidth(t *testing.T) {
	var text string
	for i, manager := range []string{"continuous-integration", "autoscaler-of-the-platform"} {
		text += strings.NewReplacer("\n", "", "MANAGER", manager, "RV", string(rune('1'+i))).Replace(log) + "\n"
	}
	for name, asked := range map[string]auditlog.Selection{"report": {}, "history": {Name: "web"}} {
		asked.Resource.Resource, asked.Resource.Group = "deployments", "apps"
		report, err := auditlog.Trace([]auditlog.Log{{Name: "log", Reader: strings.NewReader(text)}}, asked, 5)
		if err != nil || len(report.Taken) != 1 {
			t.Fatalf("%d fields taken, %v", len(report.Taken), err)
		}
		var out bytes.Buffer
		printReport(&out, view.Screen{Width: 80}, report, asked.Name != "")
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("%s: wider than 80 columns: %s", name, line)
			}
		}
		flat := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range []string{"continuous-integration", "autoscaler-of-the-platform", ".spec.replicas", "1 -> 2", "system:serviceaccount:continuous-integration:deployer"} {
			if !strings.Contains(flat, want) {
				t.Errorf("%s: no %s in\n%s", name, want, out.String())
			}
		}
		if t.Failed() {
			t.Log(out.String())
		}
	}
}
