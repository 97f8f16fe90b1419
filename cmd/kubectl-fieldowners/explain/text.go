package explain

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// applyFailed matches the beginning of the API server's message about conflicts:
//
//	Apply failed with 1 conflict: conflict with MANAGER: PATH
//	Apply failed with N conflicts: conflicts with MANAGER:
//	- PATH
//	conflicts with MANAGER:
//	- PATH
//
// (k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go)
var applyFailed = regexp.MustCompile(`Apply failed with (\d+) conflicts?: (.*)`)

var (
	quotedOwner  = regexp.MustCompile(`^conflicts? with \\"`) // matches if the message is part of a quoted string
	serverReason = regexp.MustCompile(`Error from server(?: \((\w+)\))?:|"reason": ?"(\w+)"`)
)

// readText returns the conflicts of each response in a text: the output of kubectl, a log, or a
// Status in JSON. It returns an error if the text has no response with conflicts.
func readText(text string) ([][]Conflict, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("there is nothing to explain, because the input is empty: give the response to an apply, " +
			"such as the output of kubectl apply --server-side, or the API server's Status as JSON")
	}
	answers, err := readMessages(text)
	if len(answers) > 0 || err != nil {
		return answers, err
	}
	if quoted, ok := unquoteMessages(text); ok {
		return readMessages(quoted)
	}
	return nil, whatElse(text)
}

// whatElse returns the error for a text without readable conflicts. The error names the failure that the text
// reports. It does not quote the text, which may contain secret values. A stale write is recognised by its message
// (registry.OptimisticLockErrorMsg), because other failures have the code 409 as well.
func whatElse(text string) error {
	server := serverReason.FindStringSubmatch(text)
	switch {
	case applyFailed.MatchString(text):
		return errors.New("the conflict message cannot be read, because the message is cut off or quoted in an unknown way: give the whole output of the failed apply")
	case strings.Contains(text, "the object has been modified; please apply your changes to the latest version"):
		return errors.New("the input reports a stale write, not an apply conflict, although both have the code 409: " +
			"the object changed after the client read the object, and no field manager is involved; " +
			"leave metadata.resourceVersion out of the file, or read the object again and repeat the write")
	case len(server) > 0 && slices.Contains(server, "AlreadyExists"):
		return errors.New("the input reports AlreadyExists, not an apply conflict, although both have the code 409: " +
			"the object to create exists already; apply the object instead (kubectl apply --server-side), or use another name")
	case len(server) > 0:
		return errors.New("the input is a response of the API server, but not an apply conflict: " + cmp.Or(server[1], server[2], "without a reason"))
	}
	return errors.New(`no conflict found: the input does not contain the API server's message "Apply failed with ... conflict"`)
}

// readMessages returns the conflicts of each conflict message in a text. It skips messages inside quoted strings.
func readMessages(text string) ([][]Conflict, error) {
	var answers [][]Conflict
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		found := applyFailed.FindStringSubmatch(line)
		if len(found) != 3 || quotedOwner.MatchString(found[2]) {
			continue
		}
		causes, err := readConflicts(found[2], lines[i+1:])
		if err == nil && strconv.Itoa(len(causes)) != found[1] {
			err = fmt.Errorf("the conflict message is cut off: it announces %s conflicts but lists %d", found[1], len(causes))
		}
		if err == nil && len(causes) == 0 {
			err = errors.New("the conflict message is cut off: it lists no conflict")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		answers = append(answers, causes)
	}
	return answers, nil
}

// readConflicts returns the conflicts of one message. first is the text after "Apply failed with N conflicts: ". rest
// has the following lines. readConflicts stops where the message ends.
func readConflicts(first string, rest []string) ([]Conflict, error) {
	owner, path, err := readOwner(first)
	if err != nil || path != "" {
		return []Conflict{{ServerPath: path, Owner: owner}}, err
	}
	var found []Conflict
	for _, line := range rest {
		line = strings.TrimSpace(line)
		if path, ok := strings.CutPrefix(line, "- "); ok {
			found = append(found, Conflict{ServerPath: path, Owner: owner})
			continue
		}
		if !strings.HasPrefix(line, "conflicts with ") {
			break
		}
		if owner, _, err = readOwner(line); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readOwner parses "conflict with MANAGER: PATH" or "conflicts with MANAGER:". In the second form,
// path is "". PATH begins after the first ": " that follows the quoted names in MANAGER.
func readOwner(text string) (owner view.OwnerItem, path string, err error) {
	rest, ok := strings.CutPrefix(text, "conflicts with ")
	if !ok {
		rest, ok = strings.CutPrefix(text, "conflict with ")
	}
	if !ok {
		return view.OwnerItem{}, "", errors.New(`expected "conflict with" and the name of a manager`)
	}
	behind, err := behindQuoted(rest)
	if after, has := strings.CutPrefix(behind, " with subresource "); has {
		behind, err = behindQuoted(after)
	}
	if err != nil {
		return view.OwnerItem{}, "", fmt.Errorf("reading the name of the field manager: %w", err)
	}
	who, path, ok := strings.Cut(strings.TrimRight(behind, " ")+" ", ": ")
	if !ok {
		return view.OwnerItem{}, "", errors.New("expected a colon after the name of the field manager")
	}
	manager, err := fieldowners.ParseCause("conflict with " + rest[:len(rest)-len(behind)] + who)
	return view.Owner(manager), strings.TrimSpace(path), err
}

// behindQuoted returns the text that follows the quoted string at the beginning of a text.
func behindQuoted(text string) (rest string, err error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", errors.New("expected a quoted name")
	}
	return text[len(quoted):], nil
}

// unquoteMessages searches a text, such as a log, for quoted strings that contain conflict messages. It returns the
// messages without the quotes, and false if there are no messages.
func unquoteMessages(text string) (string, bool) {
	var found []string
	for rest := text; ; {
		at := strings.IndexByte(rest, '"')
		if at < 0 {
			return strings.Join(found, "\n"), len(found) > 0
		}
		quoted, err := strconv.QuotedPrefix(rest[at:])
		if err != nil {
			rest = rest[at+1:]
			continue
		}
		if plain, _ := strconv.Unquote(quoted); applyFailed.MatchString(plain) {
			found = append(found, plain)
		}
		rest = rest[at+len(quoted):]
	}
}
