package steady

import (
	"encoding/base64"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	data       = "data"
	stringData = "stringData"
)

// setsStringData reports whether the request is for a Secret and sets stringData.
func (r Request) setsStringData() bool {
	_, has := r.Config[stringData]
	return has && r.Kind == corev1.SchemeGroupVersion.WithKind("Secret")
}

// withoutStringData returns the request with stringData moved into data, as the API server moves
// it. The API server moves stringData after it has computed fields and conflicts. So the manager
// owns the fields that the request sets in stringData, and no fields of data. A stored object
// never has stringData. So if another manager owns any field of stringData, an apply that sets
// stringData conflicts, even with the same value.
func (r Request) withoutStringData(read Read) (Request, error) {
	moved, ok := r.Config[stringData].(map[string]any)
	if !ok {
		return r, errors.New("its stringData is no map")
	}
	all := map[string]any{}
	if at, has := r.Config[data]; has {
		known, _ := at.(map[string]any)
		if maps.Copy(all, known); len(all) == 0 {
			return r, errors.New("its data is empty, and its stringData is data")
		}
	}
	for name, text := range moved {
		text, ok := text.(string)
		if _, twice := all[name]; !ok || twice {
			return r, errors.New("its stringData has a key that the data has too, or no text")
		}
		all[name] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	for _, entry := range read.GetManagedFields() {
		if theirs, err := parseFields(&entry); err != nil || !r.isOwn(entry) && sets(theirs, stringData) {
			return r, errors.New("others own stringData, too")
		}
	}
	r.Config = maps.Clone(r.Config)
	delete(r.Config, stringData)
	if len(all) > 0 {
		r.Config[data] = all
	}
	return r, nil
}

// sets reports whether a set of fields contains the named top-level field, or anything below that
// field.
func sets(set *fieldpath.Set, field string) bool {
	element := fieldpath.PathElement{FieldName: &field}
	_, below := set.Children.Get(element)
	return below || set.Members.Has(element)
}
