package steady

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi/cached"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners/whatif"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// whatIfRun compares the results of whatif with the answers of the API server.
type whatIfRun struct {
	client    client.Client
	schemas   *apply.SteadyState
	namespace string
	seed      uint64
	kinds     []steadyKind
	count     *model.Tally
}

const (
	whatIfCases   = 20 // of one object
	whatIfWorkers = 6  // each with an object of its own
)

// TestWhatIf compares random unforced applies with what whatif computed just before: the conflicts, the managed fields
// entries of all managers, and whether anything changes. COAPPLY_CASES is the number of applies. Without -short there are
// many more kinds.
func TestWhatIf(t *testing.T) {
	t.Parallel()
	config, cases := steadyConfig(t), kit.Cases(t, 3000)
	c := kit.ShapeClient(t)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	kinds := append(slices.Clone(steadyKinds), shapeOfWhatIf())
	if !testing.Short() {
		custom := randomKinds(model.NewDice(kit.Seed(t), 1<<33), 12)
		installKinds(t, config, custom)
		builtin := slices.DeleteFunc(builtinKinds(t, c, cached.NewClient(found.OpenAPIV3())), func(kind steadyKind) bool {
			return kind.forms[0].Group == "flowcontrol.apiserver.k8s.io" // the API server itself writes their status
		})
		kinds = append(append(kinds, custom...), builtin...)
	}
	schemas, err := apply.NewSteadyState(c, found.OpenAPIV3())
	if err := errors.Join(err, awaitForms(config, kinds)); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		for _, form := range kind.forms {
			kit.WaitFor(t, "the schemas of "+form.GroupVersion().String(), func() string {
				_, err := schemas.Schemas(t.Context(), form.GroupVersion())
				return strings.TrimPrefix(fmt.Sprint(err), "<nil>")
			})
		}
	}
	run := &whatIfRun{client: c, schemas: schemas, namespace: kit.NewNamespace(t, c), seed: kit.Seed(t), kinds: kinds, count: model.NewTally()}
	run.run(t, (cases+whatIfCases-1)/whatIfCases)
	run.count.Report(t)
	doubts := 0
	for what, n := range run.count.Of {
		if strings.HasPrefix(what, whatIfDoubt) {
			doubts += n
		}
	}
	t.Logf("%d doubts", doubts)
	if cases >= 3000 && doubts*100 > 4*run.count.Of["cases"] {
		t.Errorf("%d doubts in %d cases, want at most 4 %%", doubts, run.count.Of["cases"])
	}
	run.count.AtLeast(t, cases/20, "conflicts", "no-ops")
}

const whatIfDoubt = "doubt: "

func (r *whatIfRun) run(t *testing.T, objects int) {
	t.Helper()
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range whatIfWorkers {
		workers.Go(func() {
			for number := range numbers {
				if err := r.object(t.Context(), number); err != nil {
					t.Errorf("COAPPLY_SEED=%d, object %d: %v", r.seed, number, err)
				}
			}
		})
	}
	for number := range objects {
		numbers <- number
	}
	close(numbers)
	workers.Wait()
}

// apply is one case: whatif computes an unforced apply, and the API server answers it. It reports whether the API server
// refused the apply for another reason than conflicts, so that there is nothing to compare.
func (r *whatIfRun) apply(ctx context.Context, o *whatIfObject, by string, intent *steadyIntent) (refused bool, err error) {
	_, body, err := o.config(intent)
	if err != nil {
		return false, err
	}
	before := o.raw
	computed, causes, doubt := r.compute(ctx, before, by, intent.subresource, body)
	err = o.applyBody(ctx, by, intent, body)
	var answered []metav1.StatusCause
	status := apierrors.APIStatus(nil)
	switch {
	case apierrors.IsConflict(err) && errors.As(err, &status):
		answered = status.Status().Details.Causes
	case isRefusal(err):
		if doubt == nil && len(causes) > 0 {
			return true, fmt.Errorf("refused without conflicts: %w; computed %v", err, causes)
		}
		r.count.Add("refused by the API server for another reason than conflicts, and not counted as cases")
		return true, nil
	case err != nil:
		return false, err
	}
	r.count.Add("cases")
	if doubt != nil {
		r.count.Add(whatIfDoubt + withoutNames(doubt))
		return false, nil
	}
	if diff := cmp.Diff(sortedCauses(causes), sortedCauses(answered)); diff != "" {
		return false, fmt.Errorf("the conflicts (- computed, + answered):\n%s", diff)
	}
	if len(answered) > 0 {
		r.count.Add("conflicts")
		return false, nil
	}
	return false, r.compare(before, computed, o.raw, body)
}

func (r *whatIfRun) compute(ctx context.Context, before *unstructured.Unstructured, by, subresource string, body []byte) (*unstructured.Unstructured, []metav1.StatusCause, error) {
	schemas, err := r.schemas.Schemas(ctx, before.GroupVersionKind().GroupVersion())
	if err != nil {
		return nil, nil, err
	}
	return whatif.Apply{FieldManager: by, Subresource: subresource, Config: asSent(body)}.To(before, schemas)
}

// compare compares the owners, and whether anything changed. Values are compared only where nothing changed.
func (r *whatIfRun) compare(before, computed, answered *unstructured.Unstructured, body []byte) error {
	was, errWas := allOwners(before)
	owners, errComputed := allOwners(computed)
	is, errIs := allOwners(answered)
	if err := errors.Join(errWas, errComputed, errIs); err != nil {
		return err
	}
	if !maps.Equal(owners, is) {
		return fmt.Errorf("the owners (- computed, + answered):\n%s", cmp.Diff(owners, is))
	}
	r.count.Add("owners")
	changed, err := differenceOf(before, answered)
	if err != nil {
		return err
	}
	same := maps.Equal(was, owners) && reflect.DeepEqual(valuesOnly(before), valuesOnly(computed))
	switch {
	case same && changed != "":
		return fmt.Errorf("computed: nothing changes; the API server changed:\n%s", changed)
	case changed != "":
		return nil
	case same:
		r.count.Add("no-ops")
	case reflect.DeepEqual(storedForm(before), storedForm(computed)):
		r.count.Add("no-ops where whatif computed a value in another form")
	case isFilledIn(storedForm(before), storedForm(computed), asSent(body)):
		r.count.Add("no-ops where whatif computed an object without a default")
	default:
		return fmt.Errorf("the API server changed nothing; computed:\n%s", cmp.Diff(valuesOnly(before), valuesOnly(computed)))
	}
	if before.GetResourceVersion() != answered.GetResourceVersion() {
		r.count.Add("no-ops with a new resourceVersion")
	}
	return nil
}

func asSent(body []byte) (config map[string]any) {
	_ = utiljson.Unmarshal(body, &config) // what json.Marshal made
	return config
}

// isFilledIn reports whether computed differs from stored only by what the API server makes of a configuration: it drops
// null and empty values, and sets the defaults of fields that a map or list item of the configuration does not have.
func isFilledIn(stored, computed, config any) bool {
	if reflect.DeepEqual(stored, computed) {
		return true
	}
	switch config := config.(type) {
	case map[string]any:
		now, isMap := computed.(map[string]any)
		was, wasMap := stored.(map[string]any)
		for name, value := range now {
			before, had := was[name]
			if !had && !isEmpty(value) || had && value != nil && !isFilledIn(before, value, config[name]) {
				return false
			}
		}
		return isMap && wasMap
	case []any:
		now, _ := computed.([]any)
		was, _ := stored.([]any)
		for i := range min(len(now), len(was)) {
			if !slices.ContainsFunc(config, func(item any) bool { return isFilledIn(was[i], now[i], item) }) {
				return false
			}
		}
		return len(now) == len(was)
	}
	return false
}

func isEmpty(value any) bool { return slices.Contains([]string{"null", "{}", "[]"}, asJSON(value)) }

// storedForm is the object as the API server stores it, without defaults: values of built-in kinds go through Go types.
func storedForm(object *unstructured.Unstructured) map[string]any {
	typed, err := clientgoscheme.Scheme.New(object.GroupVersionKind())
	if err != nil {
		return valuesOnly(object)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(valuesOnly(object), typed); err != nil {
		return valuesOnly(object)
	}
	switch typed := typed.(type) {
	case *corev1.Secret:
		if typed.Data == nil {
			typed.Data = map[string][]byte{}
		}
		for name, text := range typed.StringData {
			typed.Data[name] = []byte(text)
		}
		typed.StringData = nil
	case *corev1.Pod: // the admission plugin DefaultTolerationSeconds adds tolerations
		typed.Spec.Tolerations = slices.DeleteFunc(typed.Spec.Tolerations, func(added corev1.Toleration) bool {
			return strings.HasPrefix(added.Key, "node.kubernetes.io/")
		})
	}
	stored, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return valuesOnly(object)
	}
	return stored
}

// withoutNames returns the reason of a doubt without the names of managers, versions and fields.
func withoutNames(doubt error) string {
	for _, reason := range []string{"owns fields in version", "the object was read as", "may drop the field"} {
		if strings.Contains(doubt.Error(), reason) {
			return reason
		}
	}
	return doubt.Error()
}

// timeOfCause is at the end of the messages of an API server before 1.37.
var timeOfCause = regexp.MustCompile(` at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)

func sortedCauses(causes []metav1.StatusCause) (texts []string) {
	for _, cause := range causes {
		message := timeOfCause.ReplaceAllString(cause.Message, "")
		texts = append(texts, fmt.Sprintf("%s %s %s", cause.Type, cause.Field, message))
	}
	slices.Sort(texts)
	return texts
}

// applyBody sends an intent as a manager does, and reads the object if the answer is not the object.
func (o *whatIfObject) applyBody(ctx context.Context, by string, intent *steadyIntent, body []byte, options ...client.PatchOption) error {
	if intent.subresource != scale {
		return o.patch(ctx, intent.form, by, types.ApplyPatchType, body, intent.subresource, options...)
	}
	if err := o.patch(ctx, o.home, by, types.ApplyPatchType, body, scale, options...); err != nil {
		return err
	}
	return o.refresh(ctx, o.home)
}
