// Package command builds the command lines that findings, explanations and conditions recommend: commands
// of kubectl and of its plugin kubectl-fieldowners. Every word that comes from an object is quoted for a
// shell, because the name of a field manager may be any text, such as "; rm". A word that is not known is a
// placeholder in capitals: Placeholder for the object, MANAGER for a field manager and FILE for a manifest.
package command

import (
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// Subject identifies the object of a command. Fields that are not known are empty.
type Subject struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Placeholder stands for the object in a command line if the caller does not know the object.
const Placeholder = "TYPE/NAME"

// Target returns kubectl's arguments for the object, such as deployment.apps/web --namespace shop.
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

// String returns the kind, namespace and name of the object for messages, such as Deployment shop/web. It returns ""
// if the object is not known.
func (s Subject) String() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + s.Name
	}
	return strings.TrimSpace(s.Kind + " " + name)
}

// Migrate returns the command that moves fields from the first manager, which owns them by Update, to the second
// manager, an applier. If paths are given, the command moves only the fields at and below these paths.
func Migrate(from, to string, paths ...fieldowners.Path) string {
	words := []string{"kubectl fieldowners migrate", Placeholder, "--from", Quote(from), "--to", Quote(to)}
	for _, path := range paths {
		words = append(words, "--path", Quote(path.String()))
	}
	return strings.Join(words, " ")
}

// Reapply returns the command that applies a manifest again under the name of a field manager. In the command, FILE
// stands for the path of the manifest.
func Reapply(manager string) string {
	return fmt.Sprintf("kubectl apply --server-side --field-manager %s -f FILE", Quote(manager))
}

// Release returns the command that gives up all fields that a manager applied to an object.
func Release(manager string) string {
	return fmt.Sprintf("kubectl fieldowners release %s --field-manager %s", Placeholder, Quote(manager))
}

// EndSharing returns the command that ends the shared ownership of the fields at the given paths, or of all fields of
// the second manager if there are no paths. The first manager, an applier, keeps the fields, and the second manager
// loses them. If the second manager later writes one of them again, it becomes an owner again or gets a conflict.
func EndSharing(by, with fieldowners.Manager, paths []fieldowners.Path) string {
	command := Migrate(with.Name, by.Name, paths...)
	if with.Operation == metav1.ManagedFieldsOperationApply {
		command += " --operation Apply"
	}
	return command
}

// plainWord matches words that need no quotes in any shell. It excludes =, which zsh expands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+:,./-]+$`)

// Quote returns a word quoted for a shell. A word that needs no quotes is returned unchanged.
func Quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
