package kit

import (
	"encoding/json"
	"testing"

	"k8s.io/client-go/rest"
)

// ContractAudit has the parts of an audit with a contract that tests read.
type ContractAudit struct {
	Complete bool
	Objects  int
	Findings []struct {
		Rule, Remedy string
		Contract     bool
		Manager      struct{ Name, Operation string }
		Examples     []struct{ Kind, Name, Message string }
	}
}

// AuditContract runs the plugin's audit with a contract.
func AuditContract(t *testing.T, config *rest.Config, file string, args ...string) ContractAudit {
	t.Helper()
	args = append([]string{"fieldowners", "audit", "-o", "json", "--contract", file}, args...)
	stdout, stderr, code := OutputOf(t, KubectlCommand(t, config, args...))
	var found ContractAudit
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || !found.Complete {
		t.Fatalf("%v: exit code %d, %v\n%s%s", args, code, err, stdout, stderr)
	}
	return found
}
