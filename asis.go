package coapply

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// send sends a configuration as it is, in the object's lane. A dry run changes nothing and
// waits for nobody.
func (c *applyingClient) send(ctx context.Context, intent apply.Intent, options client.ApplyOptions) error {
	object := objectOf(intent.Config)
	if len(options.DryRun) > 0 {
		return c.request(ctx, intent, object, options)
	}
	start := time.Now()
	inside, leave, err := c.rt.lanes.Enter(ctx, object.Key())
	if err != nil {
		return err
	}
	defer leave()
	waited := time.Since(start)
	err = c.request(inside, intent, object, options)
	result := string(apply.Configured) // whether anything changed is not determined
	if err != nil {
		result = apply.ResultOf(err)
	}
	c.rt.metrics.ObserveApply(apply.ApplyObservation{
		FieldManager: options.FieldManager, Kind: object.GroupVersionKind, Object: objectOf(intent.Config),
		Result: result, Requests: 1, Attempts: 1, Duration: time.Since(start), Waited: waited,
	})
	return err
}

func (c *applyingClient) request(ctx context.Context, intent apply.Intent, object apply.ObjectRef, options client.ApplyOptions) (err error) {
	s := sender{Client: c.Client, rt: c.rt}
	if intent.Subresource == "" {
		err = s.Apply(ctx, intent.Config, &options)
	} else {
		err = s.SubResource(intent.Subresource).Apply(ctx, intent.Config,
			&client.SubResourceApplyOptions{ApplyOptions: options, SubResourceBody: intent.Body})
	}
	if !apply.IsOwnershipConflict(err) {
		return apply.Classify(ctx, object, err)
	}
	return &apply.ConflictError{
		Object: object, Subresource: intent.Subresource, FieldManager: options.FieldManager, Conflicts: conflictsIn(err, object), Err: err,
	}
}

// conflictsIn returns the conflicts in the server's answer, with its names of fields and
// owners, and without values.
func conflictsIn(err error, object apply.ObjectRef) []apply.Conflict {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var conflicts []apply.Conflict
	for _, cause := range status.Status().Details.Causes {
		if manager, err := fieldowners.ParseCause(cause.Message); err == nil && cause.Type == metav1.CauseTypeFieldManagerConflict {
			conflicts = append(conflicts, apply.Conflict{Object: object, Manager: manager, ServerPath: cause.Field})
		}
	}
	return conflicts
}

// objectOf returns the reference of a configuration's object, as far as the configuration has
// it.
func objectOf(config runtime.ApplyConfiguration) apply.ObjectRef {
	var object metav1.PartialObjectMetadata
	var content any = config
	if unstructured, ok := config.(unstructuredConfig); ok {
		content = unstructured.UnstructuredContent()
	}
	if raw, err := json.Marshal(content); err == nil {
		_ = json.Unmarshal(raw, &object) // the server will refuse what is malformed
	}
	return apply.ObjectRef{
		GroupVersionKind: object.GroupVersionKind(), NamespacedName: client.ObjectKeyFromObject(&object),
		UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
}

// setsStatus reports whether the intent is for an object itself and sets a status. For kinds
// with a status subresource the server drops the status, which an Applier reports as an error.
func setsStatus(intent apply.Intent) bool {
	if intent.Subresource != "" {
		return false
	}
	if content, ok := intent.Config.(unstructuredConfig); ok {
		return content.UnstructuredContent()["status"] != nil
	}
	config := reflect.ValueOf(intent.Config)
	if config.Kind() != reflect.Pointer || config.IsNil() || config.Elem().Kind() != reflect.Struct {
		return false
	}
	status := config.Elem().FieldByName("Status")
	return status.IsValid() && !status.IsZero()
}

// sentOnly leaves out intents that an Applier refuses before any request: the client sends
// these as they are, and observes that.
type sentOnly struct{ apply.Metrics }

func (m sentOnly) ObserveApply(o apply.ApplyObservation) {
	if o.Result != apply.ResultOf(apply.ErrInvalidIntent) {
		m.Metrics.ObserveApply(o)
	}
}
