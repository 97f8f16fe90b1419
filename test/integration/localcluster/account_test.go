package localcluster

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"coapply.dev/test/kit"
)

// TestActAs: a program that acts as a service account has its name, its groups, and no right that it was not given.
func TestActAs(t *testing.T) {
	t.Parallel()
	kubeconfig, err := kit.Cluster(t).ActAs(types.NamespacedName{Namespace: "acting", Name: "manager"})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	user := review.Status.UserInfo
	if want := "system:serviceaccount:acting:manager"; user.Username != want || len(user.Groups) != 3 || user.Groups[1] != "system:serviceaccounts:acting" {
		t.Errorf("it is %s of %q, want %s of the groups of a service account", user.Username, user.Groups, want)
	}
	if _, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it lists Secrets: %v, want Forbidden", err)
	}
}
