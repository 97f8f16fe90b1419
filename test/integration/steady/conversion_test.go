package steady

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// The size of version v1 is the length of version v2, which is stored.
var (
	planks = schema.GroupVersion{Group: "conversion.coapply.dev", Version: "v1"}
	beams  = schema.GroupVersion{Group: "conversion.coapply.dev", Version: "v2"}
)

// TestConversionWebhook: two managers use two versions of a kind whose webhook renames a field. No Unchanged is false,
// and nothing is taken that the policy has not judged.
func TestConversionWebhook(t *testing.T) {
	t.Parallel()
	config := kit.Server(t)
	installConverted(t)
	c := kit.NewClient(t, config)
	state := kit.NewSteadyState(t, config, c, planks, beams)
	key := client.ObjectKey{Namespace: kit.NewNamespace(t, c), Name: "oak"}
	steps := []struct {
		what    string
		by      string
		version schema.GroupVersion
		spec    map[string]any
		policy  apply.Decision
		action  apply.Action // "" for a conflict
		sends   int
		length  int64
	}{
		{"created", "a", planks, map[string]any{"size": int64(1)}, apply.Reject, apply.Created, 2, 1},
		{"steady", "a", planks, map[string]any{"size": int64(1)}, apply.Reject, apply.Unchanged, 0, 1},
		{"the same value in the other version", "b", beams, map[string]any{"length": int64(1)}, apply.Reject, apply.Configured, 1, 1},
		{"steady beside the other version", "a", planks, map[string]any{"size": int64(1)}, apply.Reject, apply.Unchanged, 0, 1},
		{"steady in the other version", "b", beams, map[string]any{"length": int64(1)}, apply.Reject, apply.Unchanged, 0, 1},
		{"a conflict across versions", "b", beams, map[string]any{"length": int64(2)}, apply.Reject, "", 2, 1},
		{"a force across versions", "b", beams, map[string]any{"length": int64(2)}, apply.Force, apply.Configured, 4, 2},
		{"forced back", "a", planks, map[string]any{"size": int64(1)}, apply.Force, apply.Configured, 4, 1},
		{"not conceded, as the owner's path is not in the intent", "b", beams, map[string]any{"length": int64(3)}, apply.Relinquish, "", 2, 1},
		{"not shared, for the same reason", "b", beams, map[string]any{"length": int64(3)}, apply.Share, "", 2, 1},
		{"our entry moves to the other version", "a", beams, map[string]any{"length": int64(1)}, apply.Reject, apply.Configured, 1, 1},
		{"and is steady there", "a", beams, map[string]any{"length": int64(1)}, apply.Reject, apply.Unchanged, 0, 1},
		{"another value", "a", planks, map[string]any{"size": int64(4)}, apply.Reject, apply.Configured, 1, 4},
	}
	for _, step := range steps {
		applier, err := apply.New(c, apply.Config{FieldManager: step.by, LiveReader: c, Steady: state, Policy: apply.OnConflict(step.policy)})
		if err != nil {
			t.Fatal(err)
		}
		wanted := kit.NewUnstructured(step.version.String(), "Beam", key)
		wanted.Object["spec"] = step.spec
		intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(wanted)}
		if read := kit.NewUnstructured(step.version.String(), "Beam", key); c.Get(t.Context(), key, read) == nil {
			intent.Read = read
		}
		outcome, err := applier.Apply(t.Context(), intent)
		conflict := (*apply.ConflictError)(nil)
		if step.action == "" && !errors.As(err, &conflict) || step.action != "" && err != nil || outcome.Action != step.action || outcome.Requests != step.sends {
			t.Errorf("%s: %+v, %v", step.what, outcome, err)
		}
		stored := kit.NewUnstructured(beams.String(), "Beam", key)
		if err := c.Get(t.Context(), key, stored); err != nil {
			t.Fatal(err)
		}
		if length, _, _ := unstructured.NestedInt64(stored.Object, "spec", "length"); length != step.length {
			t.Errorf("%s: the length is %d, want %d", step.what, length, step.length)
		}
	}
}

// installConverted installs the kind with its webhook, and waits until the API server calls it.
func installConverted(t *testing.T) {
	t.Helper()
	webhook := httptest.NewTLSServer(http.HandlerFunc(convert))
	t.Cleanup(webhook.Close)
	spec := func(field string) *model.Shape {
		return model.ObjectOf(map[string]*model.Shape{"spec": model.ObjectOf(map[string]*model.Shape{field: model.Counts})})
	}
	crd := model.CRD("beams", spec("length"), beams.WithKind("Beam"))
	old := model.CRD("beams", spec("size"), planks.WithKind("Beam")).Spec.Versions[0]
	old.Storage = false
	crd.Spec.Versions = append(crd.Spec.Versions, old)
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: new(webhook.URL), CABundle: pem.EncodeToMemory(
				&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})},
		},
	}
	if err := installCRDs(kit.Server(t), []*apiextensionsv1.CustomResourceDefinition{crd}); err != nil {
		t.Fatal(err)
	}
	c := kit.NewClient(t, kit.Server(t))
	probe := kit.NewUnstructured(planks.String(), "Beam", client.ObjectKey{Namespace: kit.NewNamespace(t, c), Name: "probe"})
	probe.Object["spec"] = map[string]any{"size": int64(1)}
	kit.WaitFor(t, "the API server converts", func() string {
		if err := c.Patch(t.Context(), probe.DeepCopy(), client.RawPatch(types.ApplyPatchType, []byte(asJSON(probe.Object))),
			client.FieldOwner("probe")); err != nil {
			return err.Error()
		}
		return ""
	})
}

// convert is the webhook.
func convert(out http.ResponseWriter, in *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	renames := strings.NewReplacer(`"size":`, `"length":`)
	if review.Request.DesiredAPIVersion == planks.String() {
		renames = strings.NewReplacer(`"length":`, `"size":`)
	}
	for _, object := range review.Request.Objects {
		var converted unstructured.Unstructured
		if err := converted.UnmarshalJSON([]byte(renames.Replace(string(object.Raw)))); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		converted.SetAPIVersion(review.Request.DesiredAPIVersion)
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: &converted})
	}
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(out).Encode(review)
}
