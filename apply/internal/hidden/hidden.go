// Package hidden keeps values that may be secret out of errors, events, conditions and logs.
package hidden

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

func isDelicate(name string) bool { return slices.Contains([]string{"env", "args", "data"}, name) }

// Is reports whether the values of a field of a kind must be hidden. In a Secret, all values are hidden, and in a
// ConfigMap none. In other kinds, a value is hidden if the field, a parent, or a field inside the value has the name env,
// args or data: such fields often contain credentials.
func Is(kind schema.GroupKind, path fieldowners.Path, values ...any) bool {
	switch {
	case fieldowners.IsSecret(kind.Group, kind.Kind):
		return true
	case kind.Group == "" && kind.Kind == "ConfigMap":
		return false
	case slices.ContainsFunc(path.Elements(), func(step fieldowners.Element) bool { return step.Field != nil && isDelicate(*step.Field) }):
		return true
	}
	return slices.ContainsFunc(values, func(value any) bool {
		return content.Within(value, func(below any) bool {
			fields, _ := below.(map[string]any)
			for name := range fields {
				if isDelicate(name) {
					return true
				}
			}
			return false
		})
	})
}

// ShowUnless returns a value as one short line, or a placeholder if the value is hidden.
func ShowUnless(isHidden bool, value any) string {
	if isHidden {
		value = fieldowners.Hide(value)
	}
	return fieldowners.FormatValue(value)
}

// quotesNoValues lists reasons of a Status. With these reasons, the API server's message contains only names, and no
// values. With other reasons, such as Invalid, the message may quote the values that were sent. A message about a
// denial by admission may quote values whatever its reason is.
var quotesNoValues = []metav1.StatusReason{
	metav1.StatusReasonConflict, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonTooManyRequests,
	metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout, metav1.StatusReasonServiceUnavailable,
}

// deniedBy is the word that the API server's message contains if admission denied the request. The name of the webhook
// or policy precedes the word, and the message of the webhook or policy follows the word.
const deniedBy = "denied"

// quoteNoValue lists the types of causes in an HTTP 422 (Invalid) whose messages do not quote the invalid value.
var quoteNoValue = []metav1.CauseType{
	metav1.CauseTypeFieldValueRequired, metav1.CauseType(field.ErrorTypeForbidden),
	metav1.CauseType(field.ErrorTypeTooLong), metav1.CauseType(field.ErrorTypeTooMany),
}

// afterValue lists the known texts that follow the invalid value in validation messages.
var afterValue = []string{": field is immutable"}

// denier matches the part of the API server's message before "denied", and captures the name of the webhook or
// admission policy. It also matches in a message from which InError has already removed the values.
var denier = regexp.MustCompile(`^(?:secrets "[^"]*" is forbidden: |HTTP \d+ \w* ?)?(admission webhook "[^"]*"|ValidatingAdmissionPolicy '[^']*' with binding '[^']*') $`)

// whyInvalid returns the message of a cause in an HTTP 422 (Invalid), without the invalid value. If the position of the
// value in the message is unknown, whyInvalid returns fieldowners.Hidden in place of the whole message.
func whyInvalid(cause metav1.StatusCause) string {
	if slices.Contains(quoteNoValue, cause.Type) {
		return cause.Message
	}
	for _, ending := range afterValue {
		if strings.HasSuffix(cause.Message, ending) {
			return string(fieldowners.Hidden) + ending
		}
	}
	return string(fieldowners.Hidden)
}

// InError removes the parts that may quote values from the API server's error for a write to a Secret. The status code
// and the reason stay. Errors for objects of other kinds are returned unchanged.
func InError(kind schema.GroupKind, err error) error {
	var answer *apierrors.StatusError
	if !fieldowners.IsSecret(kind.Group, kind.Kind) || !errors.As(err, &answer) {
		return err
	}
	by, _, denied := strings.Cut(answer.ErrStatus.Message, deniedBy)
	if !denied && slices.Contains(quotesNoValues, answer.ErrStatus.Reason) {
		return err
	}
	status := answer.ErrStatus.DeepCopy()
	status.Message = strings.TrimSpace(fmt.Sprintf("HTTP %d %s%s", status.Code, status.Reason, wire.RefusedBy500(*status)))
	if named := denier.FindStringSubmatch(by); denied && named != nil {
		status.Message += " " + named[1] + " denied the request"
	}
	if status.Details != nil {
		var fields []string
		for i := range status.Details.Causes {
			cause := &status.Details.Causes[i]
			where := cause.Field
			if cause.Message = string(fieldowners.Hidden); !denied {
				cause.Message = whyInvalid(answer.ErrStatus.Details.Causes[i])
			}
			if cause.Message != string(fieldowners.Hidden) {
				where += ": " + cause.Message
			}
			fields = append(fields, where)
		}
		status.Message += " " + strings.Join(fields, ", ")
	}
	status.Message = strings.TrimSpace(status.Message) + " (the API server's message is hidden, because it may quote values)"
	return &apierrors.StatusError{ErrStatus: *status}
}
