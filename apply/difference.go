package apply

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/fieldowners"
)

// Difference is a field of an intent that landed, and that the server's answer does not
// have as wanted.
type Difference struct {
	Path         fieldowners.Path
	Wanted, Live any  // nil is that there is none; those of a Secret are not in it
	Hidden       bool // String leaves both values out, see Config.Hide
	// By is who owns the field as well. Without one it was admission, or the server itself.
	By []fieldowners.Manager
}

// String gives the field, both values, and who it was.
func (d Difference) String() string {
	live := "absent"
	if d.Live != nil {
		live = showUnless(d.Hidden, d.Live)
	}
	who := "admission or the API server"
	if len(d.By) > 0 {
		who = d.By[0].String()
	}
	return fmt.Sprintf("%s is %s, not %s as wanted: changed by %s", d.Path, live, showUnless(d.Hidden, d.Wanted), who)
}

// differences compares what was sent with what the server made of it, field by field of
// our entry. Another spelling of a quantity is no difference, nor is what is zero from what
// is absent. What a Secret takes in as stringData it never shows.
func (c *call) differences(answer *unstructured.Unstructured) []Difference {
	var found []Difference
	entries := readable(answer.GetManagedFields())
	for _, entry := range entries {
		if !c.isOurs(entry.Manager) {
			continue
		}
		for _, path := range entry.Leaves() {
			wanted, set := path.Value(c.sent.object)
			live, has := path.Value(answer.Object)
			if !set || has && sameMeaning(wanted, live) || !has && isZero(wanted) || c.intent.secret() && path.HasPrefix(stringData) {
				continue
			}
			if sameBytes(wanted, live) && isBytes(c.typeOfKind(), path) {
				continue
			}
			difference := Difference{Path: path, Wanted: wanted, Live: live, Hidden: c.config.hides(c.ref, path, wanted, live)}
			if c.intent.secret() {
				difference.Wanted, difference.Live = fieldowners.Hide(wanted), fieldowners.Hide(live)
			}
			for _, other := range entries {
				if other.Owns(path) && !c.isOurs(other.Manager) {
					difference.By = append(difference.By, other.Manager)
				}
			}
			found = append(found, difference)
		}
	}
	return found
}

var stringData = fieldowners.MustParsePath(".stringData")

// sameMeaning reports whether the server has a value as it was wanted. What it adds to the
// items of a list that is owned as a whole, as defaults, is no difference.
func sameMeaning(wanted, live any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		there, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range wanted {
			at, has := there[name]
			if has && !sameMeaning(value, at) || !has && !isZero(value) {
				return false
			}
		}
		return true
	case []any: // admission may add items at its end
		there, ok := live.([]any)
		if !ok || len(wanted) > len(there) {
			return false
		}
		for i := range wanted {
			if !sameMeaning(wanted[i], there[i]) {
				return false
			}
		}
		return true
	case string:
		there, ok := live.(string)
		return ok && (wanted == there || content.SameQuantity(wanted, there))
	case nil:
		return true // the server drops it
	}
	if there, isText := live.(string); isText { // a quantity may be written as a number
		number, isNumber := decimal(wanted)
		return isNumber && content.SameQuantity(number, there)
	}
	return reflect.DeepEqual(wanted, live) || sameNumber(wanted, live)
}

// sameBytes reports whether two texts are the same bytes in base64. The API server takes line
// breaks in it, and gives them back without.
func sameBytes(wanted, live any) bool {
	first, isText := wanted.(string)
	second, isText2 := live.(string)
	if !isText || !isText2 {
		return false
	}
	a, err := base64.StdEncoding.DecodeString(first)
	b, err2 := base64.StdEncoding.DecodeString(second)
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// typeOfKind is the Go type by which the API server itself knows the kind of the object; nil:
// there is none, or our client does not have it. A custom resource is kept as it was sent.
func (c *call) typeOfKind() reflect.Type {
	goType := c.client.Scheme().AllKnownTypes()[c.ref.GroupVersionKind]
	if goType == nil || !gotypes.IsServersOwn(c.ref.GroupVersionKind, goType) {
		return nil
	}
	return goType
}

// isBytes reports whether a field is bytes (format: byte in the API server's schema), by the
// Go type of its object.
func isBytes(of reflect.Type, path fieldowners.Path) bool {
	for _, element := range path.Elements() {
		if of == nil {
			return false
		}
		switch of = gotypes.PointedAt(of); {
		case element.Field == nil && of.Kind() == reflect.Slice, element.Field != nil && of.Kind() == reflect.Map:
			of = of.Elem()
		case element.Field != nil && of.Kind() == reflect.Struct:
			of = gotypes.FieldType(of, *element.Field)
		default:
			return false
		}
	}
	return of == reflect.TypeFor[[]byte]()
}

func decimal(v any) (text string, isNumber bool) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// sameNumber compares 1 and 1.0.
func sameNumber(a, b any) bool {
	number := func(v any) (float64, bool) {
		switch v := v.(type) {
		case int64:
			return float64(v), true
		case float64:
			return v, true
		case json.Number:
			f, err := v.Float64()
			return f, err == nil
		}
		return 0, false
	}
	first, ok := number(a)
	second, ok2 := number(b)
	return ok && ok2 && first == second
}

// isZero reports whether a value may be left out for what it says.
func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case nil:
		return true
	}
	return reflect.ValueOf(v).IsZero()
}

// compareAnswer looks in the answer of an apply that landed for what people should know
// of it: who shares a field, and what is not as wanted.
func (c *call) compareAnswer() {
	if c.dryRun || c.intent.hasBody() {
		return
	}
	answer := c.landed()
	if answer == nil {
		return
	}
	c.tellShared(c.sharedIn(answer, c.intent.subresource))
	c.differ = c.differences(answer)
}

// readable gives the entries that can be read: what others have forged hides nothing of
// ours.
func readable(entries []metav1.ManagedFieldsEntry) (all []fieldowners.Entry) {
	for _, entry := range entries {
		if ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry}); err == nil {
			all = append(all, ownership.Entries()...)
		}
	}
	return all
}
