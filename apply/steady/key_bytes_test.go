package steady

import (
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type (
	nest        []nest
	tangle      map[string]tangle
	failing     struct{}
	failingText struct{}
	flat        struct{}
)

func (failing) MarshalJSON() ([]byte, error)     { return nil, errors.New("no JSON") }
func (failingText) MarshalText() ([]byte, error) { return nil, errors.New("no text") }
func (flat) IsApplyConfiguration()               {}

// parity is another text where there is a pointer to it.
type parity int

func (p *parity) MarshalText() ([]byte, error) { return []byte{'0' + byte(*p%2)}, nil }

// masked is 1, and may be left out.
type masked struct{ hidden int }

func (masked) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (m masked) IsZero() bool               { return m.hidden == 0 }

func here[T any](value T) runtime.ApplyConfiguration { return &odd[T]{Here: value} }

// TestKeyBytes: values whose bytes would be the same without a length, a number or a mark.
func TestKeyBytes(t *testing.T) {
	type texts struct{ A, B string }
	type numbers struct{ A, B int }
	type leftOut struct {
		Value masked `json:",omitzero"`
	}
	a, none := "a", map[string]string(nil)
	k := newKeyer()
	for name, pair := range map[string][2]runtime.ApplyConfiguration{
		"where a text ends":             {here(texts{A: "x\x02y"}), here(texts{"x", "y"})},
		"which pointer is nil":          {here([]*string{nil, &a}), here([]*string{&a, nil})},
		"where a number ends":           {here([]big.Int{*big.NewInt(1), *big.NewInt(23)}), here([]big.Int{*big.NewInt(12), *big.NewInt(3)})},
		"which list is nil":             {here([][]string{nil, {}}), here([][]string{{}, nil})},
		"which map is nil":              {here([]map[string]string{none, {}}), here([]map[string]string{{}, none})},
		"another key":                   {here(map[string]int{"a": 1}), here(map[string]int{"b": 1})},
		"another key of what is copied": {here(map[string]byText{"a": {}}), here(map[string]byText{"b": {}})},
		"where a struct ends":           {here([]numbers{{1, 2}, {}}), here([]numbers{{A: 1}, {B: 2}})},
		"numbers without an address":    {here(map[string]parity{"a": 1}), here(map[string]parity{"a": 3})},
		"structs without an address":    {here(map[string]struct{ In byText }{"a": {byText{1}}}), here(map[string]struct{ In byText }{"a": {byText{3}}})},
		"what says itself that it is 0": {here(leftOut{masked{0}}), here(leftOut{masked{1}})},
	} {
		one, ok := k.Of(pair[0], "shop", "")
		other, ok2 := k.Of(pair[1], "shop", "")
		if !ok || !ok2 || one == other {
			t.Errorf("%s: %v, %v, one key: %v", name, ok, ok2, one == other)
		}
	}
}

// TestReadings: what is read as its JSON is what has to be, as that takes longer.
func TestReadings(t *testing.T) {
	for of, want := range map[reflect.Type]reading{
		reflect.TypeFor[string](): text, reflect.TypeFor[bool](): boolean, reflect.TypeFor[int8](): integer, reflect.TypeFor[uint8](): unsigned,
		reflect.TypeFor[float32](): float, reflect.TypeFor[*int](): pointer, reflect.TypeFor[*big.Int](): pointer, reflect.TypeFor[[]byte](): bytesOf,
		reflect.TypeFor[[]letter](): list, reflect.TypeFor[[]string](): list, reflect.TypeFor[map[byteString]int](): mapping,
		reflect.TypeFor[map[int8]string](): unread, reflect.TypeFor[struct{}](): structure, reflect.TypeFor[big.Int](): itself,
		reflect.TypeFor[byText](): itself, reflect.TypeFor[json.Marshaler](): unread, reflect.TypeFor[any](): unread, reflect.TypeFor[[2]int](): unread,
	} {
		if got := readingOf(of); got != want {
			t.Errorf("%v is read as %d, want %d", of, got, want)
		}
	}
	type ignoring struct {
		Shown   float64
		Ignored func() `json:"-"`
	}
	k := newKeyer()
	for _, config := range []runtime.ApplyConfiguration{here(ignoring{Shown: 1.5}), here(parity(1)), here(map[string]parity{"a": 1})} {
		if _, read, ok := k.key(reflect.ValueOf(config)); !read || !ok {
			t.Errorf("%T: read %v, %v", config, read, ok)
		}
	}
}

// TestAddressMatters: values of a map are copied one by one only where that matters.
func TestAddressMatters(t *testing.T) {
	for of, want := range map[reflect.Type]bool{
		reflect.TypeFor[int](): false, reflect.TypeFor[resource.Quantity](): false, reflect.TypeFor[metav1.Time](): false,
		reflect.TypeFor[*byText](): false, reflect.TypeFor[parity](): true, reflect.TypeFor[byPointer](): true, reflect.TypeFor[texture](): true,
	} {
		if got := addressMatters(of); got != want {
			t.Errorf("%v: %v", of, got)
		}
	}
}

type texture struct{ In byText }
