package explain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"coapply.dev/fieldowners/command"
)

var (
	errEmpty = errors.New("nothing to explain, the input is empty: give the answer to an apply, " +
		"such as what kubectl apply --server-side prints, or the API server's Status")
	errStaleWrite = errors.New("this is a stale write and no conflict, although its code is 409 as well: " +
		"the object changed after it was read, and no field manager is involved; " +
		"leave metadata.resourceVersion out of the file, or read the object again and repeat the write")
	errExists = errors.New("this is AlreadyExists and no conflict, although its code is 409 as well: " +
		"a create met an object of that name; apply it instead (kubectl apply --server-side), or take another name")
	errUnknown = errors.New(`no conflict found: neither a Status nor a text with "Apply failed with ... conflict", ` +
		"as the API server and kubectl write it")
)

// readAnswers returns the answers with conflicts, at least one.
func readAnswers(input []byte) ([]conflictAnswer, error) {
	if len(bytes.TrimSpace(input)) == 0 {
		return nil, errEmpty
	}
	if !looksStructured(input) {
		return readText(string(input))
	}
	documents, err := decodeDocuments(input)
	if err == nil && !isStatus(documents[0]) {
		err = fmt.Errorf("this is %s and no answer of the API server: give the Status, or what kubectl printed", kindOf(documents[0]))
	}
	if err != nil {
		if applyFailed.Match(input) { // a line of a log, for example
			return readText(string(input))
		}
		return nil, err
	}
	var answers []conflictAnswer
	for i, document := range documents {
		a, err := readStatus(document)
		if err != nil && len(documents) > 1 {
			err = fmt.Errorf("document %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		answers = append(answers, a...)
	}
	return answers, nil
}

var (
	structuredStart = regexp.MustCompile(`^(---|\{|\[|(apiVersion|kind):\s)`)
	statusLine      = regexp.MustCompile(`(?m)^kind:\s*"?Status`)
)

// looksStructured reports whether the input is JSON or YAML, not text by kubectl.
func looksStructured(input []byte) bool {
	return structuredStart.Match(bytes.TrimSpace(input)) || statusLine.Match(input)
}

// decodeDocuments returns the documents that are not empty; at least one.
func decodeDocuments(input []byte) ([]map[string]any, error) {
	var documents []map[string]any
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(input), len(input)); ; {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("document %d is no object in JSON or YAML: %s", len(documents)+1, strings.Join(strings.Fields(err.Error()), " "))
		}
		if document != nil {
			documents = append(documents, document)
		}
	}
	if len(documents) == 0 {
		return nil, errEmpty
	}
	return documents, nil
}

// isStatus reports whether a document is a Status, also without its kind, which Go clients
// drop.
func isStatus(document map[string]any) bool {
	if kind, _ := document["kind"].(string); kind != "" {
		return kind == "Status"
	}
	return document["status"] == metav1.StatusFailure || document["status"] == metav1.StatusSuccess
}

func kindOf(document map[string]any) string {
	if kind, _ := document["kind"].(string); kind != "" {
		return "of the kind " + kind
	}
	return "an object without a kind"
}

func readStatus(document map[string]any) ([]conflictAnswer, error) {
	if !isStatus(document) {
		return nil, fmt.Errorf("this is %s and no Status", kindOf(document))
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	var status metav1.Status
	if err := json.Unmarshal(encoded, &status); err != nil {
		return nil, fmt.Errorf("this is not what a Status looks like: %w", err)
	}
	causes, err := causesOf(status)
	switch {
	case err != nil:
		return nil, err
	case len(causes) > 0:
		return []conflictAnswer{{object: subjectOf(status.Details), causes: causes}}, nil
	case applyFailed.MatchString(status.Message): // a Status that lost its details on the way
		return readText(status.Message)
	}
	return nil, whatElse(status)
}

// whatElse returns an error that says what a Status without conflicts is. It does not repeat
// the message, which may quote values.
func whatElse(status metav1.Status) error {
	switch {
	case status.Status == metav1.StatusSuccess:
		return errors.New("this is a success: there is nothing to explain")
	case status.Reason == metav1.StatusReasonAlreadyExists:
		return errExists
	case isStaleWrite(status.Message):
		return errStaleWrite
	case status.Code == http.StatusConflict || status.Reason == metav1.StatusReasonConflict:
		return errors.New("this HTTP 409 names no field manager, so it is no conflict: something that the request " +
			"demanded of the object, such as its uid, does not hold; its message says what")
	}
	reason := cmp.Or(string(status.Reason), http.StatusText(int(status.Code)), "without a reason")
	return fmt.Errorf("this is HTTP %d %s and no conflict: conflicts come as HTTP 409 with causes of the type FieldManagerConflict", status.Code, reason)
}

// isStaleWrite reports whether a message is registry.OptimisticLockErrorMsg, which alone
// distinguishes a stale write from other 409 answers.
func isStaleWrite(message string) bool {
	return strings.Contains(message, "the object has been modified; please apply your changes to the latest version")
}

func subjectOf(details *metav1.StatusDetails) command.Subject {
	return command.Subject{Group: details.Group, Kind: details.Kind, Name: details.Name}
}
