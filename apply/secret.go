package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// withoutValues returns the error of a write to a Secret without the server's free text where
// that may quote values; the class of the error stays.
func withoutValues(object ObjectRef, err error) error {
	var answer *apierrors.StatusError
	if !isSecret(object) || !errors.As(err, &answer) {
		return err
	}
	denied := strings.Contains(answer.ErrStatus.Message, "denied") // of a webhook or an admission policy
	if !denied && slices.Contains(quotesNoValues, answer.ErrStatus.Reason) {
		return err
	}
	status := answer.ErrStatus.DeepCopy()
	status.Message = strings.TrimSpace(fmt.Sprintf("HTTP %d %s%s", status.Code, status.Reason, wire.RefusedBy500(*status)))
	if status.Details != nil {
		var fields []string
		for i := range status.Details.Causes {
			status.Details.Causes[i].Message = string(fieldowners.Hidden)
			fields = append(fields, status.Details.Causes[i].Field)
		}
		status.Message += " " + strings.Join(fields, ", ")
	}
	status.Message = strings.TrimSpace(status.Message) + " (the server's message is hidden, it may quote values)"
	return &apierrors.StatusError{ErrStatus: *status}
}
