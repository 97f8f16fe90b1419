package steady

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners/whatif"
	"coapply.dev/test/kit"
)

// whatIfs compares the conflicts and owners that whatif computes with those in the API server's answers.
type whatIfs struct {
	schemas *apply.SteadyState

	mu               sync.Mutex
	known, conflicts int
	unknown          map[string]int // by reason, without names and versions
}

func newWhatIfs(t *testing.T, c client.Client, schemas openapi.Client) *whatIfs {
	t.Helper()
	steady, err := apply.NewSteadyState(c, schemas)
	if err != nil {
		t.Fatal(err)
	}
	return &whatIfs{schemas: steady, unknown: map[string]int{}}
}

func (w *whatIfs) judge(ctx context.Context, q steadyQuestion, said steadyVerdict, after *unstructured.Unstructured) error {
	if said.refused {
		return nil
	}
	config := map[string]any{}
	if err := json.Unmarshal(q.body, &config); err != nil {
		return err
	}
	schemas, err := w.schemas.Schemas(ctx, q.intent.form.GroupVersion())
	if err != nil {
		return nil //nolint:nilerr // they are not there yet
	}
	computed, causes, err := whatif.Apply{FieldManager: kit.OurManager, Subresource: q.intent.subresource, Config: config}.To(q.before, schemas)
	w.count(len(said.causes) > 0, err)
	if err != nil {
		return nil //nolint:nilerr // counted
	}
	if diff := cmp.Diff(sortedCauses(causes), sortedCauses(said.causes)); diff != "" {
		return fmt.Errorf("the conflicts (- computed, + answered):\n%s", diff)
	}
	if said.conflict {
		return nil
	}
	owners, err := allOwners(computed)
	if err != nil {
		return err
	}
	answered, err := allOwners(after)
	if err != nil {
		return err
	}
	if !maps.Equal(owners, answered) {
		return fmt.Errorf("the owners (- computed, + answered):\n%s", cmp.Diff(owners, answered))
	}
	return nil
}

func (w *whatIfs) count(conflict bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil && conflict:
		w.conflicts++
		fallthrough
	case err == nil:
		w.known++
	case strings.Contains(err.Error(), "owns fields in version"):
		w.unknown["an owner uses another version"]++
	default:
		w.unknown[err.Error()]++
	}
}

func (w *whatIfs) report(t *testing.T) {
	t.Helper()
	t.Logf("whatif agrees in %d cases, %d of them with conflicts; not known: %v", w.known, w.conflicts, w.unknown)
	if w.conflicts == 0 {
		t.Error("no case with a conflict: nothing is compared")
	}
}

func sortedCauses(causes []metav1.StatusCause) (texts []string) {
	for _, cause := range causes {
		texts = append(texts, fmt.Sprintf("%s %s %s", cause.Type, cause.Field, cause.Message))
	}
	slices.Sort(texts)
	return texts
}
