package auditlog

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

func refOf(e *event, k key) view.Ref {
	return view.Ref{APIVersion: strings.TrimPrefix(k.group+"/"+e.ObjectRef.APIVersion, "/"), Kind: k.resource, Namespace: k.namespace, Name: k.name}
}

// userOf returns the user of a request. For an impersonated user it also returns who impersonates.
func userOf(e *event) string {
	if e.ImpersonatedUser.Username != "" {
		return e.ImpersonatedUser.Username + " by " + e.User.Username
	}
	return e.User.Username
}

// queryOf returns the parameters in the URI of a request. A parameter that cannot be parsed is left out.
func queryOf(uri string) url.Values {
	_, query, _ := strings.Cut(uri, "?")
	values, _ := url.ParseQuery(query)
	return values
}

// managerOf returns the field manager of a request as the API server determines it: the parameter fieldManager, or
// otherwise the User-Agent up to the first slash.
func managerOf(query url.Values, userAgent string) string {
	if given := query.Get("fieldManager"); given != "" {
		return given
	}
	name, _, _ := strings.Cut(userAgent, "/")
	short := ""
	for _, r := range name {
		if !unicode.IsPrint(r) {
			continue
		}
		if len(short)+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		short += string(r)
	}
	return short
}

// shown returns a value as text; the values of Secrets are hidden.
func shown(path fieldowners.Path, ref view.Ref, value any, exists bool) string {
	if !exists {
		return ""
	}
	if fieldowners.IsSecret(ref.GVK().Group, ref.Kind) && path.HoldsSecret() {
		value = fieldowners.Hide(value)
	}
	return fieldowners.FormatValue(value)
}
