package main

import (
	"cmp"
	"fmt"
	"strings"

	"coapply.dev/fieldowners/contract"
)

// resourceRules returns the field resourceRules of an admission policy as YAML. There is one rule for each API group.
// The rule lists the group's kinds in the contract, with their subresources.
func resourceRules(claims contract.Contract, kinds kinds) string {
	var text strings.Builder
	for _, r := range kinds.resources(claims) {
		fmt.Fprintf(&text, `    - apiGroups: [%s]
      apiVersions: ["*"]
      operations: [CREATE, UPDATE]
      resources:
`, cmp.Or(r.group, `""`))
		for _, name := range r.names {
			fmt.Fprintf(&text, "      - %s\n      - %s/*\n", name, name)
		}
	}
	return text.String()
}
