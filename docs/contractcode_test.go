package docs_test

import (
	"bytes"
	"strings"
	"testing"

	"coapply.dev/fieldowners/contract"
)

// TestContractBlock: the contract in docs/contracts.md is one, as contract.Write writes it.
func TestContractBlock(t *testing.T) {
	found := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if d.path != "docs/contracts.md" || !strings.HasPrefix(b.text, "managers:\n") {
				continue
			}
			found++
			c, err := contract.Read(strings.NewReader(b.text))
			if err != nil {
				t.Errorf("%s:%d: %v", d.path, b.line, err)
				continue
			}
			var written bytes.Buffer
			if err := contract.Write(&written, c); err != nil || written.String() != b.text {
				t.Errorf("%s:%d: written it is (%v)\n%s", d.path, b.line, err, &written)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d contracts in docs/contracts.md, want 1", found)
	}
}
