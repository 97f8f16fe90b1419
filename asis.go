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

// send applies a configuration as it is, in its turn. A dry run changes nothing, and waits
// for nobody.
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
	result := string(apply.Configured) // whether anything changed is not looked at
	if err != nil {
		result = apply.ResultOf(err)
	}
	c.rt.sent(options.FieldManager).ObserveApply(apply.ApplyObservation{
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

// conflictsIn names the fields and their owners as the server does. It says no values.
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

// objectOf names the object of a configuration, as far as it does.
func objectOf(config runtime.ApplyConfiguration) apply.ObjectRef {
	var object metav1.PartialObjectMetadata
	var content any = config
	if unstructured, ok := config.(unstructuredConfig); ok {
		content = unstructured.UnstructuredContent()
	}
	if raw, err := json.Marshal(content); err == nil {
		_ = json.Unmarshal(raw, &object) // what is odd about it, the server says
	}
	return apply.ObjectRef{
		GroupVersionKind: object.GroupVersionKind(), NamespacedName: client.ObjectKeyFromObject(&object),
		UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
}

// setsStatus reports whether the configuration of an object has a status. The server drops
// it from kinds that have it as a subresource, which an Applier reports as an error.
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

// sentOnly leaves out what an Applier refuses: it is sent as it is, and observed then.
type sentOnly struct{ apply.Metrics }

func (m sentOnly) ObserveApply(o apply.ApplyObservation) {
	if o.Result != apply.ResultOf(apply.ErrInvalidIntent) {
		m.Metrics.ObserveApply(o)
	}
}
