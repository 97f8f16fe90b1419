package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// wipe takes all managed fields away.
func wipe(s *kit.Stage) {
	s.T.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
	s.Must(s.Client.Patch(s.T.Context(), s.Object(`{}`), patch))
	if left := s.Live().GetManagedFields(); len(left) > 0 {
		s.T.Fatalf("managed fields are left: %v", left)
	}
}

// leavesOf lists what a manager owns by apply, in the order of strings.
func leavesOf(s *kit.Stage, manager string) []string {
	s.T.Helper()
	var leaves []string
	for _, entry := range s.Ownership().Entries() {
		if entry.Name != manager || entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		for _, path := range entry.Leaves() {
			leaves = append(leaves, path.String())
		}
	}
	slices.Sort(leaves)
	return leaves
}
