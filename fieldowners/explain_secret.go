package fieldowners

// hiddenValue stands for a value of a Secret.
type hiddenValue string

const hiddenText hiddenValue = "(hidden)"

// hide gives what is shown instead of a value; that there is none may be shown.
func hide(known bool) any {
	if !known {
		return nil
	}
	return hiddenText
}

// isSecret knows the kind and, as answers have it, the resource.
func (s Subject) isSecret() bool {
	return s.Group == "" && (s.Kind == "Secret" || s.Kind == "secrets")
}

var secretPaths = []Path{
	MustParsePath(".data"), MustParsePath(".stringData"),
	MustParsePath(`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`),
}

// holdsSecret tells whether what a Secret has at the path must not be shown: it is
// a secret value, lies in one or has one below it.
func holdsSecret(path Path) bool {
	for _, secret := range secretPaths {
		if path.HasPrefix(secret) || secret.HasPrefix(path) {
			return true
		}
	}
	return false
}
