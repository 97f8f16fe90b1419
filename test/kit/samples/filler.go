package samples

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Filler fills values of any type with random content, the same for the same seed.
type Filler struct {
	*rand.Rand

	Makers map[reflect.Type]func(*Filler) any // make values of types that cannot be filled field by field
}

// NewFiller returns a Filler with a seed.
func NewFiller(seed, stream uint64) *Filler {
	return &Filler{rand.New(rand.NewPCG(seed, stream)), map[reflect.Type]func(*Filler) any{
		reflect.TypeFor[resource.Quantity](): func(f *Filler) any {
			return resource.MustParse(Pick(f, "0", "1", "1000m", "2", "1Gi", "1024Mi"))
		},
		reflect.TypeFor[metav1.Time]():        func(f *Filler) any { return metav1.NewTime(f.time()) },
		reflect.TypeFor[metav1.MicroTime]():   func(f *Filler) any { return metav1.NewMicroTime(f.time()) },
		reflect.TypeFor[metav1.Duration]():    func(f *Filler) any { return metav1.Duration{Duration: time.Duration(f.IntN(3)) * time.Minute} },
		reflect.TypeFor[intstr.IntOrString](): func(f *Filler) any { return intstr.Parse(Pick(f, "0", "1", "http", "25%")) },
		reflect.TypeFor[runtime.RawExtension](): func(f *Filler) any {
			return runtime.RawExtension{Raw: []byte(Pick(f, `{}`, `{"a":1}`, `{"a":2}`, `null`))}
		},
		reflect.TypeFor[json.RawMessage](): func(f *Filler) any { return json.RawMessage(Pick(f, `{}`, `{"a":1}`, `[1]`, `"x"`)) },
		reflect.TypeFor[json.Number]():     func(f *Filler) any { return json.Number(Pick(f, "", "1", "2", "1.0")) },
		reflect.TypeFor[metav1.FieldsV1](): func(f *Filler) any { return *metav1.NewFieldsV1(Pick(f, `{}`, `{"f:a":{}}`)) },
		reflect.TypeFor[any](): func(f *Filler) any {
			return Pick[any](f, 1, "1", "a", map[string]any{"a": []any{}}, nil, []string(nil))
		},
	}}
}

// Pick returns a random element.
func Pick[T any](f *Filler, from ...T) T { return from[f.IntN(len(from))] }

func (f *Filler) time() time.Time {
	return Pick(f, time.Time{}, time.Unix(int64(f.IntN(3)), 0), time.Unix(1, int64(f.IntN(3000))*1000))
}

// Fill fills a value with random content. Deeper values get fewer elements.
func (f *Filler) Fill(v reflect.Value, depth int) {
	if maker := f.Makers[v.Type()]; maker != nil {
		if made := reflect.ValueOf(maker(f)); made.IsValid() {
			v.Set(made)
		}
		return
	}
	if v.Kind() == reflect.Struct {
		for _, field := range v.Fields() {
			if field.CanSet() {
				f.Fill(field, depth+1)
			}
		}
		return
	}
	few := max(0, 3-depth/3)
	switch v.Kind() {
	case reflect.Pointer:
		if v.SetZero(); f.IntN(8) < few+1 {
			v.Set(reflect.New(v.Type().Elem()))
			f.Fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.SetZero(); f.IntN(2) == 0 {
			v.Set(reflect.MakeSlice(v.Type(), f.IntN(few+1), 4))
		}
		for i := range v.Len() {
			f.Fill(v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.Fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		if v.SetZero(); f.IntN(2) == 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range f.IntN(few + 1) {
				f.enter(v, depth+1)
			}
		}
	default:
		f.fillScalar(v)
	}
}

// enter sets a random entry of a map.
func (f *Filler) enter(v reflect.Value, depth int) {
	key, at := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	f.Fill(key, depth)
	f.Fill(at, depth)
	v.SetMapIndex(key, at)
}

func (f *Filler) fillScalar(v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(Pick(f, "", "a", "b", "1", "true", "a,b", "<", "\xff"))
	case v.Kind() == reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case v.CanInt():
		v.SetInt(int64(f.IntN(4)) - 1)
	case v.CanUint():
		v.SetUint(f.Uint64N(3))
	case v.CanFloat():
		v.SetFloat(Pick(f, 0, math.Copysign(0, -1), 0.5, 1))
	case v.Kind() == reflect.Func: // nothing fills it
	default:
		panic(fmt.Sprintf("a Filler cannot fill a %v", v.Type()))
	}
}

// places returns found, and the values at and below v that can be set.
func (f *Filler) places(v reflect.Value, found []reflect.Value) []reflect.Value {
	if v.CanSet() {
		found = append(found, v)
	}
	if f.Makers[v.Type()] != nil {
		return found
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return f.places(v.Elem(), found)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			found = f.places(field, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = f.places(v.Index(i), found)
		}
	}
	return found
}

// Change changes one random value at or below v.
func (f *Filler) Change(v reflect.Value) {
	at := Pick(f, f.places(v, nil)...)
	switch kind := at.Kind(); {
	case f.Makers[at.Type()] != nil:
		f.Fill(at, 9)
	case kind == reflect.Slice && f.IntN(3) > 0:
		at.Set(Pick(f, reflect.Zero(at.Type()), reflect.MakeSlice(at.Type(), 0, 0), reflect.MakeSlice(at.Type(), 1, 1)))
	case kind == reflect.Map && !at.IsNil() && f.IntN(3) > 0:
		f.enter(at, 9)
	case kind == reflect.Map && f.IntN(2) > 0:
		at.Set(Pick(f, reflect.Zero(at.Type()), reflect.MakeMap(at.Type())))
	case kind == reflect.Pointer && !at.IsNil() && f.IntN(2) > 0:
		at.SetZero()
	case kind == reflect.Pointer && at.IsNil() && f.IntN(2) > 0:
		at.Set(reflect.New(at.Type().Elem()))
	default:
		f.Fill(at, 9)
	}
}
