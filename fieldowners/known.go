package fieldowners

import (
	"slices"
)

// Well-known field managers. A policy may name them.
const (
	// BeforeFirstApply is the field manager that the API server makes up at an apply to an
	// object without managed fields, because they were wiped or because the object is older
	// than Server-Side Apply: it then owns, by Update, everything in the object, whoever wrote
	// that.
	BeforeFirstApply = "before-first-apply"
	// AncientChanges is the field manager to which the API server assigns the oldest entries if
	// more than ten managers wrote by Update.
	AncientChanges = "ancient-changes"
	// ClientSideApply is the field manager of kubectl apply without --server-side.
	ClientSideApply = "kubectl-client-side-apply"
)

// Fields of every kind that an apply configuration usually does not list.
var (
	// LastAppliedPath is the annotation in which client-side kubectl apply records what it
	// applied, including the values of a Secret.
	LastAppliedPath = MustParsePath(`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`)
	// FinalizersPath is the set of finalizers.
	FinalizersPath = MustParsePath(".metadata.finalizers")
	// StatusPath is the status, which in most kinds is written only through its subresource.
	StatusPath = MustParsePath(".status")
)

// serverKept are the fields without an owner, by their paths: the fields of metadata that the
// API server strips from every set of managed fields
// (k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go), and the two that mark a
// deletion, which no manager's write sets; managedFields aside.
var serverKept = map[string]bool{
	".apiVersion": true, ".kind": true,
	".metadata.name": true, ".metadata.namespace": true, ".metadata.uid": true, ".metadata.resourceVersion": true,
	".metadata.generation": true, ".metadata.creationTimestamp": true, ".metadata.selfLink": true,
	".metadata.deletionTimestamp": true, ".metadata.deletionGracePeriodSeconds": true,
}

// IsServerKept reports whether the API server maintains the field itself and records no owner:
// apiVersion, kind, the name, the uid and the like.
func (p Path) IsServerKept() bool { return len(p.elements) <= 2 && serverKept[p.String()] }

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
