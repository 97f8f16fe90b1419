package main

import (
	"bytes"
	"fmt"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners/contract"
)

// maxMistakes is how many mistakes of a contract are told at once.
const maxMistakes = 20

// holdContract reads --contract, and has what is audited compared with it. Its mistakes are
// told on stderr, each with its line.
func (a *auditCommand) holdContract() error {
	if a.contract == "" {
		return nil
	}
	source, content, err := a.ReadFile(a.contract)
	if err != nil {
		return err
	}
	read, err := contract.Read(bytes.NewReader(content))
	if err == nil {
		comparer, err := contract.NewComparer(read)
		a.audit.Compare(comparer)
		return err
	}
	wrong := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		wrong = joined.Unwrap()
	}
	for i, err := range wrong {
		if i == maxMistakes {
			fmt.Fprintf(a.ErrOut, "error: and %d more\n", len(wrong)-maxMistakes)
			break
		}
		fmt.Fprintln(a.ErrOut, ownerview.Visible(fmt.Sprintf("error: %s, %v", source, err)))
	}
	return console.ErrSaid
}
