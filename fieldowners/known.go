package fieldowners

// Field managers that stand for others. None of them ever writes, and a policy may name
// them.
const (
	// BeforeFirstApply is the field manager that the API server makes up where an object
	// has no managed fields, because they were wiped or because it is older than they are:
	// at the next apply it owns, by Update, everything that stands in the object. What it
	// owns is whoever's it was before.
	BeforeFirstApply = "before-first-apply"
	// AncientChanges is what the API server calls the oldest of more than ten managers that
	// wrote by Update, in one entry.
	AncientChanges = "ancient-changes"
	// ClientSideApply is the field manager of kubectl apply without --server-side.
	ClientSideApply = "kubectl-client-side-apply"
)

// Fields that every kind has, and that no apply configuration is expected to list.
var (
	// LastAppliedPath is the annotation in which client-side kubectl apply records what it
	// applied, the values of a Secret too.
	LastAppliedPath = MustParsePath(`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`)
	// FinalizersPath is the set of FinalizersPath.
	FinalizersPath = MustParsePath(".metadata.finalizers")
	// StatusPath is the status, which most kinds have written through its subresource alone.
	StatusPath = MustParsePath(".status")
)

// serverKept are the fields that belong to no manager, by their paths: the fields of
// metadata that the API server strips from every set of managed fields
// (k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go), and the two that mark
// a deletion, which no manager's write sets; managedFields aside.
var serverKept = map[string]bool{
	".apiVersion": true, ".kind": true,
	".metadata.name": true, ".metadata.namespace": true, ".metadata.uid": true, ".metadata.resourceVersion": true,
	".metadata.generation": true, ".metadata.creationTimestamp": true, ".metadata.selfLink": true,
	".metadata.deletionTimestamp": true, ".metadata.deletionGracePeriodSeconds": true,
}

// IsServerKept reports whether the API server keeps the field itself and records no owner
// for it: apiVersion, kind, the name, the uid and the like.
func (p Path) IsServerKept() bool { return len(p.elements) <= 2 && serverKept[p.String()] }
