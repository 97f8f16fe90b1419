package apply

import (
	"slices"

	"coapply.dev/apply/internal/content"
	"coapply.dev/fieldowners"
)

// IsHidden reports whether the values of a field are left out of errors, events, conditions and
// logs: all in a Secret, and in other kinds what is named env, args or data, with everything
// below, as credentials are often there. A ConfigMap's values are shown.
func IsHidden(object ObjectRef, path fieldowners.Path) bool {
	switch {
	case isSecret(object):
		return true
	case object.Group == "" && object.Kind == "ConfigMap":
		return false
	}
	return slices.ContainsFunc(path.Elements(), func(step fieldowners.Element) bool { return step.Field != nil && isDelicate(*step.Field) })
}

func isSecret(object ObjectRef) bool { return fieldowners.IsSecret(object.Group, object.Kind) }

func isDelicate(name string) bool { return slices.Contains([]string{"env", "args", "data"}, name) }

// hides reports whether values of a field must not be shown: the field is hidden, or a value has a
// hidden field below it.
func hides(object ObjectRef, path fieldowners.Path, values ...any) bool {
	switch {
	case IsHidden(object, path):
		return true
	case object.Group == "" && object.Kind == "ConfigMap":
		return false
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

// showUnless returns a value on one short line, or the mark of a hidden value.
func showUnless(isHidden bool, value any) string {
	if isHidden {
		value = fieldowners.Hide(value)
	}
	return fieldowners.FormatValue(value)
}
