package apply

import (
	"slices"
	"strings"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/applyset"
)

// lists counts the lists among requests: a read of a collection.
func lists(sent []string) (n int) {
	for _, request := range sent {
		if strings.HasPrefix(request, "GET ") && slices.Contains([]string{"/configmaps", "/secrets"}, request[strings.LastIndex(request, "/"):]) {
			n++
		}
	}
	return n
}

// One forged label is told once, and does not make each round list each kind and
// namespace. What the parent emits no longer is still found at once.
func TestPruneOfASetWithAForgedLabel(t *testing.T) {
	w := newPruneWorld(t)
	requests := &pruneRequests{}
	sets := w.process(requests)
	emitted := []string{"ConfigMap a", "Secret a", "ConfigMap other/a"}
	w.stands(sets, append(emitted, "Secret b")...)
	forged := corev1ac.ConfigMap("forged", w.other).WithLabels(map[string]string{applyset.PartOfLabel: w.labelOf("ConfigMap a")})
	w.must(w.Apply(t.Context(), forged, client.FieldOwner("forger")))
	requests.take()
	const rounds, each = 40, 4 // two kinds in two namespaces
	told := 0
	for n := range rounds {
		if n == rounds/2 {
			emitted = append(emitted, "Secret b")
		}
		_, pruned, err := w.round(sets, emitted...)
		w.must(err)
		if len(pruned.Kept) != 1 || pruned.Kept[0].Object.Name != "forged" {
			t.Fatalf("round %d kept %v; want what is forged, in each round", n, pruned.Kept)
		}
		if !pruned.Kept[0].Remembered {
			told++
		}
	}
	// The first look, and what a slow machine's clock adds: 5 s, 10 s, 20 s later.
	if n := lists(requests.take()); n < each || n > 5*each || told != 1 {
		t.Errorf("%d lists in %d rounds, told %d times; want %d to %d lists, and told once", n, rounds, told, each, 5*each)
	}
	_, pruned, err := w.round(sets, "ConfigMap a")
	w.must(err)
	if got, want := w.deleted(pruned), []string{"ConfigMap other/a", "Secret a", "Secret b"}; !slices.Equal(got, want) {
		t.Errorf("deleted %v, want %v", got, want)
	}
}
