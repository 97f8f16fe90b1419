package steady

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"
)

// sweepState is an object and the managers of its fields, as structured-merge-diff keeps them.
type sweepState struct {
	live     *typed.TypedValue
	managers fieldpath.ManagedFields
}

func (s sweepState) String() string {
	var owners []string
	for name, set := range s.managers {
		owners = append(owners, fmt.Sprintf("%s %v %s", name, set.Applied(), set.Set()))
	}
	slices.Sort(owners)
	return fmt.Sprintf("%v by %s", s.live.AsValue(), strings.Join(owners, "; "))
}

const (
	sweepUs      = "us"
	sweepOther   = "other"
	sweepUpdater = "us, by updates" // of the same name
	sweepVersion = fieldpath.APIVersion("example.com/v1")
)

// oneVersion converts nothing.
type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

// sweep compares the proof with the result of structured-merge-diff's Updater, which the API server uses.
type sweep struct {
	*testing.T

	schemas managedfields.TypeConverter
	updater *merge.Updater
	configs map[string]*typed.TypedValue
}

func newSweep(t *testing.T) *sweep {
	t.Helper()
	builder := merge.UpdaterBuilder{Converter: oneVersion{}, IgnoreFilter: map[fieldpath.APIVersion]fieldpath.Filter{
		sweepVersion: fieldpath.NewExcludeSetFilter(neverOwned),
	}}
	return &sweep{T: t, schemas: schemasIn(t, sweepModels), updater: builder.BuildUpdater(), configs: map[string]*typed.TypedValue{}}
}

// config returns the apply configuration with these fields of the spec.
func (s *sweep) config(fields string) *typed.TypedValue {
	if known := s.configs[fields]; known != nil {
		return known
	}
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: web}\n"+fields), &object); err != nil {
		s.Fatal(fields, err)
	}
	config, err := s.schemas.ObjectToTyped(&unstructured.Unstructured{Object: object})
	if err != nil {
		s.Fatal(fields, err)
	}
	s.configs[fields] = config
	return config
}

func (s *sweep) apply(state sweepState, fields, manager string, force bool) (sweepState, error) {
	live, managers, err := s.updater.Apply(state.live, s.config(fields), sweepVersion, state.managers.Copy(), manager, force)
	if live == nil { // unchanged
		live = state.live
	}
	return sweepState{live, withoutNobody(managers)}, err
}

// withoutNobody removes managers that own nothing: the API server writes no entries for them.
func withoutNobody(managers fieldpath.ManagedFields) fieldpath.ManagedFields {
	for name, set := range managers {
		if set.Set().Empty() {
			delete(managers, name)
		}
	}
	return managers
}

// update replaces the spec by an Update of one manager.
func (s *sweep) update(state sweepState, fields string) (sweepState, error) {
	live, managers, err := s.updater.Update(state.live, s.config(fields), sweepVersion, state.managers.Copy(), sweepUpdater)
	return sweepState{live, managers}, err
}

// states returns all states that some writes of the three managers produce from an object with only a name.
func (s *sweep) states(configs []string, writes int) []sweepState {
	first := sweepState{s.config(""), fieldpath.ManagedFields{}}
	all, known := []sweepState{first}, map[string]bool{first.String(): true}
	add := func(next sweepState, err error) {
		if name := next.String(); err == nil && !known[name] {
			known[name] = true
			all = append(all, next)
		}
	}
	for done := 0; writes > 0; writes-- {
		last := all[done:]
		done = len(all)
		for _, state := range last {
			for _, fields := range configs {
				add(s.apply(state, fields, sweepUs, true))
				add(s.apply(state, fields, sweepOther, true))
				add(s.update(state, fields))
			}
		}
	}
	return all
}

// read returns the state as an object.
func (s *sweep) read(state sweepState) Read {
	object, err := s.schemas.TypedToObject(state.live)
	if err != nil {
		s.Fatal(err)
	}
	read, _ := object.(*unstructured.Unstructured)
	read = read.DeepCopy()
	var entries []metav1.ManagedFieldsEntry
	for name, set := range state.managers {
		raw, err := set.Set().ToJSON()
		if err != nil {
			s.Fatal(err)
		}
		entry := entryOf(name, string(sweepVersion), string(raw))
		if name == sweepUpdater {
			entry.Manager, entry.Operation = sweepUs, metav1.ManagedFieldsOperationUpdate
		}
		entries = append(entries, entry)
	}
	read.SetManagedFields(entries)
	return Read{Object: read, Kind: gadgetKind}
}
