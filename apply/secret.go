package apply

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// secret reports whether the intent is for a Secret, whose values must not be shown.
func (e *encodedIntent) secret() bool {
	return isSecret(e.ref)
}

// whyNot returns the text of an error of ours, or for a Secret, whose values it may quote, the
// mark of a hidden value.
func (e *encodedIntent) whyNot(err error) string {
	if e.secret() {
		return string(fieldowners.Hidden)
	}
	return fmt.Sprint(err)
}

// quotesNoValues are the reasons whose messages the API server makes from names alone. Other
// messages, such as those of validation, may quote what was sent, as may a denial by admission,
// which may have any reason.
var quotesNoValues = []metav1.StatusReason{
	metav1.StatusReasonConflict, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonTooManyRequests,
	metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout, metav1.StatusReasonServiceUnavailable,
}

// deniedBy follows the name of what denied a request, and is followed by its text.
const deniedBy = "denied"

// quoteNoValue are the causes of a 422 whose messages the API server's validation makes without
// the value.
var quoteNoValue = []metav1.CauseType{
	metav1.CauseTypeFieldValueRequired, metav1.CauseType(field.ErrorTypeForbidden),
	metav1.CauseType(field.ErrorTypeTooLong), metav1.CauseType(field.ErrorTypeTooMany),
}

// afterValue are endings of other messages of validation, which come after the value.
var afterValue = []string{": field is immutable"}

// denier is how the API server names the webhook or the admission policy that denied a request, also in an answer
// whose values are hidden already.
var denier = regexp.MustCompile(`^(?:secrets "[^"]*" is forbidden: |HTTP \d+ \w* ?)?(admission webhook "[^"]*"|ValidatingAdmissionPolicy '[^']*' with binding '[^']*') $`)

// whyInvalid returns the message of a cause without the value; Hidden if it may quote that.
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

// withoutValues returns the error of a write to a Secret without the server's free text where
// that may quote values; the class of the error stays.
func withoutValues(object ObjectRef, err error) error {
	var answer *apierrors.StatusError
	if !isSecret(object) || !errors.As(err, &answer) {
		return err
	}
	by, _, denied := strings.Cut(answer.ErrStatus.Message, deniedBy) // by a webhook or an admission policy, whose name comes first
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
	status.Message = strings.TrimSpace(status.Message) + " (the server's message is hidden, it may quote values)"
	return &apierrors.StatusError{ErrStatus: *status}
}
