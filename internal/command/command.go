// Package command returns the commands that findings, explanations and conditions recommend:
// kubectl's, and those of its plugin kubectl-fieldowners.
// Every word that comes from an object is quoted for a shell: the name of a field manager may be
// anything, "; rm" too. What is not known is written in capitals: Placeholder for the object, MANAGER
// and FILE for the rest.
package command

import (
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// Subject is the object that a command is about, as far as it is known.
type Subject struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Placeholder is written in commands for an object that is not known.
const Placeholder = "TYPE/NAME"

// Target returns the object as kubectl's arguments: deployment.apps/web --namespace shop.
func (s Subject) Target() string {
	if s.Kind == "" || s.Name == "" {
		return Placeholder
	}
	target := strings.ToLower(s.Kind)
	if s.Group != "" {
		target += "." + s.Group
	}
	target = Quote(target + "/" + s.Name)
	if s.Namespace != "" {
		target += " --namespace " + Quote(s.Namespace)
	}
	return target
}

// String returns the object as messages name it, such as Deployment shop/web; "" if it is not
// known.
func (s Subject) String() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + s.Name
	}
	return strings.TrimSpace(s.Kind + " " + name)
}

// Migrate returns the command that moves what a manager wrote by Update to an applier: all of
// it, or these fields with everything below them.
func Migrate(from, to string, paths ...fieldowners.Path) string {
	words := []string{"kubectl fieldowners migrate", Placeholder, "--from", Quote(from), "--to", Quote(to)}
	for _, path := range paths {
		words = append(words, "--path", Quote(path.String()))
	}
	return strings.Join(words, " ")
}

// Reapply returns the command by which a manager applies FILE, what it applied before.
func Reapply(manager string) string {
	return fmt.Sprintf("kubectl apply --server-side --field-manager %s -f FILE", Quote(manager))
}

// Release returns the command that gives up what a manager applied.
func Release(manager string) string {
	return fmt.Sprintf("kubectl fieldowners release %s --field-manager %s", Placeholder, Quote(manager))
}

// EndSharing returns the command that makes fields, which the applier by shares with one other
// manager, the applier's alone, with Placeholder for the object. If the other manager writes
// such a field again, it takes the field back, or conflicts.
func EndSharing(by, with fieldowners.Manager, paths []fieldowners.Path) string {
	command := Migrate(with.Name, by.Name, paths...)
	if with.Operation == metav1.ManagedFieldsOperationApply {
		command += " --operation Apply"
	}
	return command
}

// plainWord needs no quotes in any shell: zsh has a meaning for = as well.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-]+$`)

// Quote returns a word quoted for a shell, if need be.
func Quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
