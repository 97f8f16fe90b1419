// Command ownlint finds writes of Kubernetes controllers that take fields of other field managers or lose updates.
package main

import (
	"os"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"coapply.dev/cmd/ownlint/rules"
)

func main() {
	if calledByVet(os.Args[1:]) {
		checkPackage(os.Args[len(os.Args)-1])
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// calledByVet reports whether the go command runs ownlint as its vet tool.
func calledByVet(args []string) bool {
	for _, arg := range args {
		if arg == "-V=full" || arg == "-flags" || strings.HasSuffix(arg, ".cfg") {
			return true
		}
	}
	return false
}

// checkPackage does what the go command asks of its vet tool, and ends the process.
func checkPackage(config string) {
	if skip(config) {
		os.Exit(0)
	}
	unitchecker.Main(rules.All()...)
}
