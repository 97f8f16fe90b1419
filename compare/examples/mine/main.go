// Command mine is the command compare with an additional arm and workload. To measure an arm or workload of your own,
// copy this folder, point the replacements in go.mod to a checkout of coapply, and replace the code after the function catalogue.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
	"coapply.dev/compare/commands"
)

func main() { os.Exit(commands.Main(catalogue())) }

// catalogue returns the arms and workloads of the benchmark, and one more arm and workload.
func catalogue() compare.Catalogue {
	c := commands.Catalogue()
	c.Arms = append(c.Arms, compare.Arm{
		Name:    "blind-merge-patch",
		Summary: "a merge patch of the wanted fields, sent without a read",
		New:     func(s compare.Session) (compare.Writer, error) { return blind{s}, nil },
	})
	c.Workloads = append(c.Workloads, compare.Workload{
		Name:     "labels",
		Summary:  "one ConfigMap on which every manager keeps a label",
		Defaults: compare.Parameters{Writers: 4, Objects: 1, Managers: 4},
		Fixed:    []string{"objects"}, // the parameter has no effect here, so a run that sets it is rejected
		Arms:     []string{"gmu-default-retry", "ssa", "apply"},
		Prepare:  prepareLabels,
	})
	return c
}

// blind is an arm that sends the wanted fields as a merge patch, without a read. If two managers set the same field,
// there is no error.
type blind struct{ compare.Session }

func (b blind) Write(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
	if intent.ReadsLive || intent.Creates || intent.Subresource != "" {
		return compare.Receipt{}, errors.New("blind-merge-patch cannot create objects, write subresources or read live objects: use another arm")
	}
	if intent.Pause != nil { // in a trial by rounds, waits until all writers are about to write
		if err := intent.Pause(ctx); err != nil {
			return compare.Receipt{}, err
		}
	}
	patch, err := json.Marshal(intent.Configure(nil))
	if err != nil {
		return compare.Receipt{}, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(intent.Kind)
	o.SetNamespace(intent.Namespace)
	o.SetName(intent.Name)
	err = b.Client(intent.Manager).Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(intent.Manager))
	return compare.Receipt{ResourceVersion: o.GetResourceVersion()}, err
}

// labels is one trial of the workload "labels".
type labels struct{ compare.Stage }

// prepareLabels makes every manager the owner of its label, so that the first write in the trial does not change ownership.
func prepareLabels(ctx context.Context, s compare.Stage) (compare.Run, error) {
	l := labels{s}
	err := s.Admin.Create(ctx, l.object(), client.FieldOwner("prepare"))
	for j := range s.Managers {
		if err != nil {
			break
		}
		first := l.intent(j, -1)
		o := l.unstructured(first.Configure(nil))
		err = s.Admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(first.Manager))
	}
	return l, err // return l even after an error, so that its objects are deleted
}

func (l labels) object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Prefix + "labelled"}}
}

// unstructured returns the fields as an object, with kind, namespace and name.
func (l labels) unstructured(fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: fields}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	o.SetNamespace(l.Namespace)
	o.SetName(l.object().Name)
	return o
}

// intent returns an intent that sets one label to a value that is unique in the trial. Wants describes the change for
// the oracle, Modify for arms with get-modify-update, and Configure for arms with Server-Side Apply.
func (l labels) intent(writer, sequence int) compare.Intent {
	manager := fmt.Sprintf("m%d", writer%l.Managers)
	name, value := "example.com/"+manager, fmt.Sprintf("w%d-%d", writer, sequence+1)
	return compare.Intent{
		Writer: writer, Sequence: sequence, Manager: manager,
		Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: l.Namespace, Name: l.object().Name,
		Wants: map[string]string{name: value},
		Modify: func(o *unstructured.Unstructured) error {
			return unstructured.SetNestedField(o.Object, value, "metadata", "labels", name)
		},
		Configure: func(*unstructured.Unstructured) map[string]any {
			return map[string]any{"metadata": map[string]any{"labels": map[string]any{name: value}}}
		},
	}
}

func (l labels) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	return l.intent(writer, sequence), true, nil
}

// Fields returns the labels, which are the fields that the oracle tracks. Intent.Wants uses the same names.
func (l labels) Fields(o *unstructured.Unstructured) map[string]string {
	if o.GetName() != l.object().Name {
		return nil
	}
	return o.GetLabels()
}

func (l labels) Kinds() []compare.Kind {
	return []compare.Kind{{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Resource: "configmaps"}}
}

// Background implements compare.Run. There are no writes in the background.
func (l labels) Background(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Finish implements compare.Run. There are no additional numbers.
func (l labels) Finish(context.Context) (map[string]float64, error) { return nil, nil }

func (l labels) Clean(ctx context.Context) error {
	return client.IgnoreNotFound(l.Admin.Delete(ctx, l.object()))
}
