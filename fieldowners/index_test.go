package fieldowners

import (
	"fmt"
	"reflect"
	"testing"
)

// indexed is a list of n items with two key fields, one of which every third item lacks, and a
// set of n values.
func indexed(n int) (object map[string]any, paths []Path) {
	var items, set []any
	for i := range n {
		item := map[string]any{"port": int64(i), "value": fmt.Sprint(i)}
		if protocol := []string{"TCP", "UDP", ""}[i%3]; protocol != "" {
			item["protocol"] = protocol
		}
		items, set = append(items, item), append(set, fmt.Sprintf("v%d", i))
		for _, text := range []string{
			`.spec.ports[port=%d,protocol="TCP"]`, `.spec.ports[port=%d,protocol="UDP"].value`, `.spec.ports[port=%d,protocol="SCTP"].value.below`,
			`.spec.set[="v%d"]`, `.spec.set[="w%d"]`, `.spec.ports[%d].value`, `.spec.ports[port=%d.5,protocol="TCP"]`,
		} {
			paths = append(paths, MustParsePath(fmt.Sprintf(text, i)))
		}
	}
	return map[string]any{"spec": map[string]any{"ports": items, "set": set}}, paths
}

// TestIndex: an Index finds the same values as a Path, at the same paths.
func TestIndex(t *testing.T) {
	object, paths := indexed(30)
	ports := object["spec"].(map[string]any)["ports"].([]any)
	object["spec"].(map[string]any)["ports"] = append(ports,
		map[string]any{"port": int64(3), "protocol": "TCP", "value": "twice"}, map[string]any{"port": 4.0, "value": "4.0"},
		map[string]any{"port": int64(2), "value": "two that lack the protocol"}, map[string]any{"protocol": "SCTP"}, "no item", nil)
	index := NewIndex(object)
	for _, path := range append(paths, MustParsePath(".spec.absent"), MustParsePath(`.spec.set[port=1]`), Path{},
		MustParsePath(`.spec.ports[a=1,b=1,c=1,d=1,e=1,f=1,port=1]`)) {
		wantValue, wantOK := path.Value(object)
		if value, ok := index.Value(path); ok != wantOK || !reflect.DeepEqual(value, wantValue) {
			t.Errorf("%v: %v, %t; want %v, %t", path, value, ok, wantValue, wantOK)
		}
		wantNearest, wantSet := path.Nearest(object)
		if nearest, set := index.Nearest(path); set != wantSet || !nearest.Equal(wantNearest) {
			t.Errorf("%v: nearest %v, %t; want %v, %t", path, nearest, set, wantNearest, wantSet)
		}
		want := Locate(object, path.ServerString())
		if found := index.Locate(path.ServerString()); !reflect.DeepEqual(found, want) {
			t.Errorf("%v: located %v, want %v", path, found, want)
		}
	}
}

// TestIndexFindsByName: the names of a list's items are read once, and not for each path.
func TestIndexFindsByName(t *testing.T) {
	object, paths := indexed(250)
	index := NewIndex(object)
	for _, path := range paths {
		index.Value(path)
	}
	if len(index.lists) != 2 {
		t.Errorf("the items of %d lists were named, want 2", len(index.lists))
	}
}
