package fieldowners

import "slices"

// Hidden stands for a value that must not be shown.
const Hidden = HiddenValue("(hidden)")

// HiddenValue is the type of Hidden, which no value of an object has.
type HiddenValue string

// Hide returns Hidden in place of a value. That there is none may be shown.
func Hide(v any) any {
	if v == nil {
		return nil
	}
	return Hidden
}

// IsSecret reports whether objects of a kind keep values secret.
func IsSecret(group, kind string) bool { return group == "" && kind == "Secret" }

// secrets are the fields of a Secret whose values are.
var secrets = []Path{MustParsePath(".data"), MustParsePath(".stringData"), LastAppliedPath}

// HoldsSecret reports whether what a Secret has at the path must not be shown: it is a
// secret value, lies in one or has one below it.
func (p Path) HoldsSecret() bool {
	return slices.ContainsFunc(secrets, func(s Path) bool { return p.HasPrefix(s) || s.HasPrefix(p) })
}
