package apply_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// answer is what the API server makes of a request.
type answer func(*http.Request) (*http.Response, error)

// give answers with an object.
func give(status int, object any) answer {
	return func(request *http.Request) (*http.Response, error) {
		body, err := json.Marshal(object)
		return respond(request, status, http.Header{"Content-Type": {"application/json"}}, body), err
	}
}

func ok(object any) answer      { return give(http.StatusOK, object) }
func created(object any) answer { return give(http.StatusCreated, object) }

// fail answers as the API server writes errors: the Status as body, and what it
// says of waiting as a header too.
func fail(err *apierrors.StatusError) answer {
	return func(request *http.Request) (*http.Response, error) {
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		response, broken := give(int(status.Code), status)(request)
		if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
			response.Header.Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
		}
		return response, broken
	}
}

// breaks gives no answer.
func breaks(err error) answer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

func notFound() answer { return fail(apierrors.NewNotFound(deployments, "web")) }

// stale is the 409 without causes: the resourceVersion is old, or the uid belongs
// to no object.
func stale() answer {
	return fail(apierrors.NewConflict(deployments, "web", errors.New("the object has been modified")))
}

// otherUID is what a recreated object answers to the uid of the earlier one.
func otherUID() answer {
	invalid := field.Invalid(field.NewPath("metadata", "uid"), "uid-1", "field is immutable")
	return fail(apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{invalid}))
}

// invalid is how the server refuses an object that lacks something.
func invalid(message string) answer {
	required := field.Required(field.NewPath("spec", "template"), message)
	return fail(apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{required}))
}

// unknownReason is the 500 with an empty reason.
func unknownReason(message string) answer {
	return fail(&apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}})
}

// cause is one conflict: the path as the server writes it and the other manager.
type cause struct{ path, manager string }

var (
	hpaReplicas     = cause{".spec.replicas", `"hpa" with subresource "scale" using apps/v1 at 2000-01-01T00:00:00Z`}
	phantomReplicas = cause{".spec.replicas", `"before-first-apply" using apps/v1`}
	kubectlPause    = cause{".spec.paused", `"kubectl"`}
)

func conflict(causes ...cause) answer {
	var all []metav1.StatusCause
	message := fmt.Sprintf("Apply failed with %d conflicts:", len(causes))
	for _, c := range causes {
		all = append(all, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Field: c.path, Message: "conflict with " + c.manager,
		})
		message += fmt.Sprintf(" conflicts with %s:\n- %s", c.manager, c.path)
	}
	return fail(apierrors.NewApplyConflict(all, message))
}

// web is the deployment at a uid and resourceVersion. hpa owns 5 replicas of it,
// and kubectl that it is paused.
func web(uid, resourceVersion string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: types.UID(uid), ResourceVersion: resourceVersion,
			ManagedFields: []metav1.ManagedFieldsEntry{
				entry("hpa", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`),
				entry("kubectl", "Apply", "", `{"f:spec":{"f:paused":{}}}`),
			},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](5), Paused: true},
	}
}

func entry(name string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: name, Operation: operation, Subresource: subresource, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}
