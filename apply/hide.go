package apply

import (
	"slices"

	"coapply.dev/apply/internal/content"
	"coapply.dev/fieldowners"
)

// HiddenByDefault reports whether the values of a field are left out of errors, events,
// conditions and logs if Config.Hide is nil: all in a Secret, and in other kinds what is named
// env, args or data, with everything below, as credentials are often there. A ConfigMap's
// values are shown.
func HiddenByDefault(object ObjectRef, path fieldowners.Path) bool {
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

// hides reports whether values of a field must not be shown: the field is hidden, or a value
// has a field below it that is hidden by default, even if Config.Hide shows the path. A
// ConfigMap's values are hidden by Config.Hide alone.
func (c Config) hides(object ObjectRef, path fieldowners.Path, values ...any) bool {
	hides := HiddenByDefault
	if c.Hide != nil {
		hides = c.Hide
	}
	switch {
	case isSecret(object), hides(object, path):
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
