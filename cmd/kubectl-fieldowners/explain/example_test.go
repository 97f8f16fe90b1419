package explain_test

import (
	"fmt"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
)

func ExampleAnswer() {
	printed := `error: Apply failed with 2 conflicts: conflicts with "kubectl-edit" using apps/v1:
- .metadata.annotations.example.com/team
conflicts with "hpa" with subresource "scale" using apps/v1:
- .spec.replicas
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
`
	live := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "web", "namespace": "shop",
			"annotations": map[string]any{"example.com/team": "ops"},
		},
		"spec": map[string]any{"replicas": int64(4)},
	}
	explanations, err := explain.Answer([]byte(printed), []map[string]any{live}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Print(explanations[0])
	// Output:
	// 2 conflicts on Deployment shop/web
	//   .metadata.annotations["example.com/team"]
	//     owner  kubectl-edit/Update
	//     live   "ops"
	//   .spec.replicas
	//     owner  hpa/Update[scale]
	//     live   4
	//
	// First, look at the current owners
	//     kubectl fieldowners get deployment.apps/web --namespace shop
	//
	// 1. Force: take the fields
	//    Your values are written. The command takes every field in conflict, the
	//    policy only the fields that it names. kubectl-edit/Update, hpa/Update[scale]:
	//    the next write of another value takes the field back, without a conflict.
	//       kubectl apply --server-side --force-conflicts --field-manager MANAGER \
	//         -f FILE
	//       apply.OnConflict(apply.Reject).
	//         At(`.metadata.annotations["example.com/team"]`, apply.Force).
	//         At(".spec.replicas", apply.Force)
	//
	// 2. Relinquish: leave the fields out
	//    Take the fields out of the file and apply again. The rest of the file is
	//    applied; the fields keep the live values and stay with their owners. If you
	//    co-owned them, you no longer do.
	//       kubectl apply --server-side --field-manager MANAGER -f FILE
	//       apply.OnConflict(apply.Reject).
	//         At(`.metadata.annotations["example.com/team"]`, apply.Relinquish).
	//         At(".spec.replicas", apply.Relinquish)
	//
	// 3. Share: take over the live values
	//    In the file, set the fields to their live values, and apply again. You and
	//    the other owner then own the fields together. If the other owner gives up the
	//    fields, you still own them. kubectl-edit/Update, hpa/Update[scale]: the next
	//    write of another value takes the field from you, without a conflict.
	//       kubectl apply --server-side --field-manager MANAGER -f FILE
	//       apply.OnConflict(apply.Reject).
	//         At(`.metadata.annotations["example.com/team"]`, apply.Share).
	//         At(".spec.replicas", apply.Share)
	//
	// MANAGER is the field manager of the failed apply (kubectl if none was named),
	// and FILE is the applied file. The Go expressions are policies of
	// coapply.dev/apply.
}
