package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// editInner changes a struct: zero, which leaves what the type does not know, or one
// field of it.
func editInner(r *rand.Rand, name string, now *gadgetInner) *narrowEdit {
	of := func(s *gadgetSpec) *gadgetInner {
		switch name {
		case "inner":
			return &s.Inner
		case "zeroable":
			return &s.Zeroable
		}
		if s.Pointed == nil {
			s.Pointed = &gadgetInner{}
		}
		return s.Pointed
	}
	zero := now == nil || *now == (gadgetInner{Size: now.Size}) && now.Size.IsZero()
	if name != "pointed" && !zero && r.IntN(3) == 0 {
		return editSpec(name+" to zero", func(s *gadgetSpec) { *of(s) = gadgetInner{} }, func(raw map[string]any) {
			inner := below(raw, name)
			if now.Mode != "" { // else it is zero as it is
				delete(inner, "mode")
			}
			if !now.Size.IsZero() {
				delete(inner, "size")
			}
			switch {
			case name == "zeroable":
				if delete(inner, "flag"); len(inner) == 0 {
					delete(raw, name)
				}
			case now.Flag:
				inner["flag"] = false
			}
		})
	}
	mode := fmt.Sprintf("ours-%d", r.IntN(9))
	return editSpec(name+"'s mode", func(s *gadgetSpec) { of(s).Mode = mode }, func(raw map[string]any) {
		if _, there := raw[name]; !there || name == "zeroable" && zero { // the struct is new, and sent whole
			below(raw, name)["flag"] = false
		}
		below(raw, name)["mode"] = mode
	})
}

// changedPart is a copy of an item that mutate changes. In steps, which have no keys, it is sent as Go writes it.
func changedPart(list string, item any) map[string]any {
	if list == "steps" {
		return partAsGo(item)
	}
	return maps.Clone(item.(map[string]any))
}

// partAsGo is an item as its Go type writes it.
func partAsGo(item any) (written map[string]any) {
	encoded, err := json.Marshal(item)
	if err != nil {
		panic(err)
	}
	var part gadgetPart
	if err := json.Unmarshal(encoded, &part); err != nil {
		panic(err)
	}
	if encoded, err = json.Marshal(part); err != nil {
		panic(err)
	}
	if err := utiljson.Unmarshal(encoded, &written); err != nil {
		panic(err)
	}
	return written
}

// dropsUnknown reports whether steps that have the field future go while others come: whoever does not know the field
// cannot tell whether it is to go.
func dropsUnknown(live, wire map[string]any) bool {
	was, is := items(below(live, "spec"), "steps"), items(below(wire, "spec"), "steps")
	without := func(these, those []any) []any {
		return slices.DeleteFunc(slices.Clone(these), func(item any) bool {
			return slices.ContainsFunc(those, func(other any) bool { return reflect.DeepEqual(item, other) })
		})
	}
	future := func(item any) bool { _, has := item.(map[string]any)["future"]; return has }
	return len(without(is, was)) > 0 && slices.ContainsFunc(without(was, is), future)
}

func editParts(r *rand.Rand, name string, n int, of func(*gadgetSpec) *[]gadgetPart) *narrowEdit {
	q := newQuantity(r)
	if n == 0 || r.IntN(4) == 0 {
		at := r.IntN(n + 1)
		return editSpec("new in "+name, func(s *gadgetSpec) {
			*of(s) = slices.Insert(slices.Clone(*of(s)), at, gadgetPart{Name: "ours", Size: q})
		}, func(raw map[string]any) {
			raw[name] = slices.Insert(items(raw, name), at, any(map[string]any{"name": "ours", "size": q.String(), "on": false}))
		})
	}
	i, j := r.IntN(n), r.IntN(n)
	change := func(what string, typed func(*gadgetPart), wire func(map[string]any)) *narrowEdit {
		return editSpec(what+" in "+name, func(s *gadgetSpec) { typed(&(*of(s))[i]) }, func(raw map[string]any) {
			item := changedPart(name, items(raw, name)[i])
			wire(item)
			list := items(raw, name)
			list[i] = item
			raw[name] = list
		})
	}
	switch r.IntN(6) {
	case 0:
		return editSpec("moved in "+name, func(s *gadgetSpec) {
			part := (*of(s))[i]
			*of(s) = slices.Insert(slices.Delete(slices.Clone(*of(s)), i, i+1), j, part)
		}, func(raw map[string]any) {
			list := items(raw, name)
			part := list[i]
			raw[name] = slices.Insert(slices.Delete(list, i, i+1), j, part)
		})
	case 1:
		return editSpec("one less in "+name, func(s *gadgetSpec) { *of(s) = slices.Delete(slices.Clone(*of(s)), i, i+1) }, func(raw map[string]any) {
			setItems(raw, name, slices.Delete(items(raw, name), i, i+1))
		})
	case 2: // one goes, another one changes
		if n < 2 {
			return nil
		}
		return editSpec("one less and one changed in "+name, func(s *gadgetSpec) {
			list := slices.Delete(slices.Clone(*of(s)), i, i+1)
			list[j%(n-1)].Size = q
			*of(s) = list
		}, func(raw map[string]any) {
			list := slices.Delete(items(raw, name), i, i+1)
			item := changedPart(name, list[j%(n-1)])
			item["size"] = q.String()
			list[j%(n-1)] = item
			raw[name] = list
		})
	case 3:
		return change("wait", func(p *gadgetPart) { p.Wait.Duration = 3 * time.Second }, func(item map[string]any) { item["wait"] = "3s" })
	case 4:
		return editSpec("renamed in "+name, func(s *gadgetSpec) { (*of(s))[i].Name = "ours" }, func(raw map[string]any) {
			list := items(raw, name)
			item := partAsGo(list[i]) // another item, by its key
			item["name"] = "ours"
			list[i] = item
			raw[name] = list
		})
	}
	return change("size", func(p *gadgetPart) { p.Size = q }, func(item map[string]any) { item["size"] = q.String() })
}

func editEndpoints(r *rand.Rand, o client.Object) *narrowEdit {
	n := len(specOf(o).Endpoints)
	if n == 0 || r.IntN(4) == 0 {
		return editSpec("a new endpoint", func(s *gadgetSpec) {
			s.Endpoints = append([]gadgetEndpoint{{Port: 999, Protocol: "TCP"}}, s.Endpoints...)
		}, func(raw map[string]any) {
			raw["endpoints"] = append([]any{map[string]any{"port": int64(999), "protocol": "TCP"}}, items(raw, "endpoints")...)
		})
	}
	i := r.IntN(n)
	if r.IntN(3) == 0 {
		return editSpec("endpoints in another order", func(s *gadgetSpec) {
			s.Endpoints = append(slices.Clone(s.Endpoints[i:]), s.Endpoints[:i]...)
		}, func(raw map[string]any) {
			list := items(raw, "endpoints")
			raw["endpoints"] = append(slices.Clone(list[i:]), list[:i]...)
		})
	}
	return editSpec("an endpoint's comment", func(s *gadgetSpec) { s.Endpoints[i].Comment = "ours" }, func(raw map[string]any) {
		list := items(raw, "endpoints")
		item := maps.Clone(list[i].(map[string]any))
		item["comment"] = "ours"
		list[i] = item
		raw["endpoints"] = list
	})
}

var statusEdits = []narrowEdits{
	func(r *rand.Rand, _ client.Object) *narrowEdit {
		phase := fmt.Sprintf("Phase%d", r.IntN(5))
		return &narrowEdit{"phase", func(o client.Object) { statusOf(o).Phase = phase }, func(raw map[string]any) { below(raw, "status")["phase"] = phase }}
	},
	func(r *rand.Rand, _ client.Object) *narrowEdit {
		q := newQuantity(r)
		return &narrowEdit{"used", func(o client.Object) {
			if statusOf(o).Used == nil {
				statusOf(o).Used = map[string]resource.Quantity{}
			}
			statusOf(o).Used["ours"] = q
		}, func(raw map[string]any) { below(raw, "status", "used")["ours"] = q.String() }}
	},
	func(r *rand.Rand, _ client.Object) *narrowEdit {
		condition := metav1.Condition{
			Type: []string{"Odd0", "Odd1", "Ours"}[r.IntN(3)], Status: metav1.ConditionUnknown, Reason: "Ours", Message: "ours",
			LastTransitionTime: metav1.Date(2025, 1, 1, 1, 1, 1, 0, time.UTC),
		}
		return &narrowEdit{"condition " + condition.Type, func(o client.Object) {
			meta.SetStatusCondition(&statusOf(o).Conditions, condition)
		}, func(raw map[string]any) {
			list := items(below(raw, "status"), "conditions")
			at := slices.IndexFunc(list, func(item any) bool { return item.(map[string]any)["type"] == condition.Type })
			item := map[string]any{"type": condition.Type}
			if at < 0 {
				list = append(list, item)
			} else {
				item = maps.Clone(list[at].(map[string]any))
				list[at] = item
			}
			item["status"], item["reason"], item["message"] = "Unknown", "Ours", "ours"
			item["lastTransitionTime"] = "2025-01-01T01:01:01Z"
			raw["status"].(map[string]any)["conditions"] = list
		}}
	},
}

// metadataEdits are for any kind.
var metadataEdits = []narrowEdits{
	func(_ *rand.Rand, _ client.Object) *narrowEdit {
		return &narrowEdit{"a label", func(o client.Object) {
			labels := maps.Clone(o.GetLabels())
			if labels == nil {
				labels = map[string]string{}
			}
			labels["ours"] = "1000m"
			o.SetLabels(labels)
		}, func(raw map[string]any) { below(raw, "metadata", "labels")["ours"] = "1000m" }}
	},
	func(_ *rand.Rand, o client.Object) *narrowEdit {
		if len(o.GetAnnotations()) == 0 {
			return nil
		}
		name := slices.Min(slices.Collect(maps.Keys(o.GetAnnotations())))
		return &narrowEdit{"an annotation less", func(o client.Object) {
			annotations := maps.Clone(o.GetAnnotations())
			delete(annotations, name)
			o.SetAnnotations(annotations)
		}, func(raw map[string]any) { drop(below(raw, "metadata"), "annotations", name) }}
	},
}
