package show

import (
	"fmt"
	"slices"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

func (e *explainCommand) objectsIn(file string) ([]map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	return e.ReadAll(file)
}

// objectsOf returns the live object and the intent that an answer is about. If a file has
// several objects, it returns the one that has the fields in conflict, and that the other file
// has as well; if several fit, it returns no object and warns on stderr.
func (e *explainCommand) objectsOf(x explain.Explanation) (live, intent map[string]any, err error) {
	lives, intents := e.candidates(e.lives, x), e.candidates(e.intents, x)
	if len(e.lives) > 0 && len(e.intents) > 0 {
		lives, intents = inBoth(lives, intents), inBoth(intents, lives)
	}
	if live, err = e.only(e.live, e.lives, lives); err != nil {
		return nil, nil, err
	}
	if live != nil {
		o := view.New(live)
		if o.Absent && o.UID == "" { // the cluster's has one
			return nil, nil, fmt.Errorf("--live %s: %s is no live object, as it has no metadata.uid: save the live one by kubectl get %s -o yaml --show-managed-fields; what was applied is --intent",
				view.Safe(e.live), o, o.Target())
		}
		if o.Absent {
			tell(e.ErrOut, o)
		}
	}
	intent, err = e.only(e.intent, e.intents, intents)
	return live, intent, err
}

// candidates returns the objects that have all fields in conflict. A single object is always
// one.
func (e *explainCommand) candidates(all []map[string]any, x explain.Explanation) []map[string]any {
	if len(all) == 1 && e.answers == 1 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(object map[string]any) bool {
		return slices.ContainsFunc(x.Conflicts, func(c explain.Conflict) bool {
			return len(fieldowners.Locate(object, c.ServerPath)) == 0
		})
	})
}

// inBoth returns the objects that are among others as well, or all if none is.
func inBoth(some, others []map[string]any) []map[string]any {
	both := slices.DeleteFunc(slices.Clone(some), func(object map[string]any) bool {
		return !slices.ContainsFunc(others, func(other map[string]any) bool { return objects.Same(object, other) })
	})
	if len(both) == 0 { // explain returns the error that they do not fit
		return some
	}
	return both
}

// only returns the one candidate among the objects of a file.
func (e *explainCommand) only(file string, all, candidates []map[string]any) (map[string]any, error) {
	switch {
	case len(all) == 0:
		return nil, nil
	case len(candidates) == 0 && e.answers > 1:
		fmt.Fprintf(e.ErrOut, "warning: %s: no object in it has the fields of one of the answers\n", view.Safe(file))
		return nil, nil
	case len(candidates) == 0:
		return nil, fmt.Errorf("%s: none of its %d objects has the fields in conflict: give the file that was applied", file, len(all))
	case len(candidates) > 1:
		fmt.Fprintf(e.ErrOut, "warning: %s: %s and %s both have the fields in conflict, so their values are not shown: give a file with the object alone\n",
			view.Safe(file), view.New(candidates[0]), view.New(candidates[1]))
		return nil, nil
	}
	return candidates[0], nil
}
