package fieldowners

import "slices"

// Hidden stands for a value that must not be shown.
const Hidden = HiddenValue("(hidden)")

// HiddenValue is the type of Hidden. No value of an object has this type.
type HiddenValue string

// Hide returns Hidden in place of a value, and nil for nil: that there is no value may be
// shown.
func Hide(v any) any {
	if v == nil {
		return nil
	}
	return Hidden
}

// IsSecret reports whether a kind is that of Secrets.
func IsSecret(group, kind string) bool { return group == "" && kind == "Secret" }

// secrets are the fields of a Secret with secret values.
var secrets = []Path{MustParsePath(".data"), MustParsePath(".stringData"), LastAppliedPath}

// HoldsSecret reports whether the value of a Secret at the path must not be shown: it is a
// secret value, part of one, or has one below it.
func (p Path) HoldsSecret() bool {
	return slices.ContainsFunc(secrets, func(s Path) bool { return p.HasPrefix(s) || s.HasPrefix(p) })
}
