package compare

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
	recorded "coapply.dev/compare/history"
)

// increment is the intent to make a count one greater.
func (w armWorld) increment(object, manager string) compare.Intent {
	intent := w.key(object, manager, "", "")
	greater := func(live *unstructured.Unstructured) string {
		text, _, _ := unstructured.NestedString(live.Object, "data", "count")
		count, _ := strconv.Atoi(text) // 0 where there is none
		return strconv.Itoa(count + 1)
	}
	intent.ReadsLive = true
	intent.Configure = func(live *unstructured.Unstructured) map[string]any {
		return map[string]any{"data": map[string]any{"count": greater(live)}}
	}
	intent.Modify = func(live *unstructured.Unstructured) error {
		return unstructured.SetNestedField(live.Object, greater(live), "data", "count")
	}
	return intent
}

// What depends on the value read is safe where the write is bound to what was read, and nowhere else:
// Server-Side Apply does not notice that both writers counted from the same value.
func TestCompareArmsIncrement(t *testing.T) {
	w := newArmWorld(t)
	for _, arm := range partArms() {
		w.configMap(t, arm.Name)
	}
	w = w.withCache(t)
	lose := []string{"ssa", "ssa-force", "apply", "put-no-rv", "shared-manager"}
	for _, arm := range partArms() {
		if arm.Name == "gmu-replace" {
			continue // it replaces what it knew before, whatever it reads
		}
		outcomes := atOnce(t, w.writer(t, arm), w.increment(arm.Name, "one"), w.increment(arm.Name, "two"))
		want := outcomes[recorded.Landed]
		if slices.Contains(lose, arm.Name) || strings.HasPrefix(arm.Name, "apply-") {
			want--
		}
		if got := w.data(t, arm.Name)["count"]; got != strconv.Itoa(want) || want == 0 {
			t.Errorf("%s: the count is %s after %v, want %d", arm.Name, got, outcomes, want)
		}
	}
}
