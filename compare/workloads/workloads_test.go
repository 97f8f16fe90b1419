package workloads

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
)

func TestCatalogue(t *testing.T) {
	catalogue := compare.Catalogue{Arms: arms.All(), Workloads: All()}
	if err := catalogue.Check(); err != nil {
		t.Fatal(err)
	}
	flags := []string{"writers", "objects", "managers", "rtt", "rate", "rounds", "warmup", "duration"}
	for _, w := range catalogue.Workloads {
		for i, name := range w.Arms {
			if arm, known := catalogue.Arm(name); !known || arm.Control || slices.Contains(w.Arms[:i], name) {
				t.Errorf("%s names the arm %s, which does not exist, is a control, or stands there twice", w.Name, name)
			}
		}
		for _, name := range w.Fixed {
			if !slices.Contains(flags, name) {
				t.Errorf("%s says that %s is fixed; there is no such parameter", w.Name, name)
			}
		}
		if w.Summary == "" || strings.Contains(w.Summary, "\n") || len(w.Arms) == 0 && !strings.HasPrefix(w.Name, "hot-") || w.Defaults.Writers == 0 {
			t.Errorf("%s is not complete", w.Name)
		}
	}
}

func TestWritersTakeObjectsInTurn(t *testing.T) {
	stage := stageOf(compare.Parameters{Writers: 3, Managers: 2, Objects: 3})
	run := hot{newConfigMaps(stage)}
	for writer, want := range []string{"trial-0 trial-1 trial-2 trial-0 m0", "trial-1 trial-2 trial-0 trial-1 m1", "trial-2 trial-0 trial-1 trial-2 m0"} {
		var got []string
		var manager string
		for sequence := range 4 {
			intent := nextOf(t, run, writer, sequence)
			got, manager = append(got, intent.Name), intent.Manager
		}
		if got := strings.Join(append(got, manager), " "); got != want {
			t.Errorf("writer %d: %s, want %s", writer, got, want)
		}
	}
}

func TestFinalizerIsEnsuredOnTheSameObject(t *testing.T) {
	stage := stageOf(licenseFinalizer().Defaults)
	stage.Objects = 3
	run := license{newConfigMaps(stage)}
	values := map[string]bool{}
	for sequence := 0; sequence < 10; sequence += 2 {
		replace, ensure := nextOf(t, run, 2, sequence), nextOf(t, run, 2, sequence+1)
		value := replace.Wants[finalizerField("m2")]
		if ensure.Wants[finalizerField("m2")] != value || ensure.Name != replace.Name || values[value] {
			t.Errorf("%v on %s after %v on %s", ensure.Wants, ensure.Name, replace.Wants, replace.Name)
		}
		values[value] = true
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetFinalizers([]string{"example.com/a", domain + "m2-old", "example.com/b", domain + "m2-older"})
		if err := replace.Modify(object); err != nil {
			t.Fatal(err)
		}
		want := []string{"example.com/a", domain + "m2-" + value, "example.com/b"}
		if got := object.GetFinalizers(); !slices.Equal(got, want) {
			t.Errorf("finalizers %v, want %v", got, want)
		}
	}
}

func TestTwoFinalizersOfOneManagerAreSeen(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetName("trial-0")
	object.SetFinalizers([]string{domain + "m2-b", domain + "m2-a", "m2-c"})
	if got := (license{newConfigMaps(stageOf(compare.Parameters{}))}).Fields(object); got[finalizerField("m2")] != "a,b" || len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestIncrementRefusesWhatIsNoNumber(t *testing.T) {
	intent := nextOf(t, counters{newConfigMaps(stageOf(increment().Defaults))}, 0, 0)
	for _, data := range []any{nil, "many", map[string]any{counterKey: "many"}} {
		object := &unstructured.Unstructured{Object: map[string]any{"data": data}}
		object.SetName("trial-0")
		if err := intent.Modify(object); err == nil {
			t.Errorf("data %v: no error", data)
		}
	}
}
