package steady

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/test/kit/samples"
)

// odd has a type in all places where JSON may have another form of it.
type odd[T any] struct {
	Name  string         `json:"name"`
	Here  T              `json:"here"`
	Empty T              `json:"empty,omitempty"`
	To    *T             `json:"to"`
	ToTo  **T            `json:"toTo"`
	Items []T            `json:"items"`
	Lists [][]T          `json:"lists,omitempty"`
	Named map[string]T   `json:"named"`
	Maps  map[string][]T `json:"maps,omitempty"`
	Next  *odd[T]        `json:"next"`
}

func (*odd[T]) IsApplyConfiguration() {}

// byPointer writes what it hides, where there is a pointer to it.
type byPointer struct{ hidden string }

func (b *byPointer) MarshalJSON() ([]byte, error) { return json.Marshal(b.hidden) }

// byText is a text where there is a pointer to it.
type byText struct{ Hidden int }

func (b *byText) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d", b.Hidden%2), nil }

type byTextKey struct{ at int }

func (b byTextKey) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d", b.at), nil }

// letter is a byte that writes itself, so that a list of it is no text.
type letter byte

func (l letter) MarshalText() ([]byte, error) { return []byte{'a' + byte(l)%4}, nil }

// zeroInside says itself what is zero.
type zeroInside struct{ Shown, hidden int }

func (z zeroInside) IsZero() bool { return z.hidden == 0 }

type embeddedPart struct{ Inner string }

// oddFields have what only tags and fields can have.
type oddFields struct {
	*embeddedPart

	After string
}

// hiding has a field that nobody may read, and that is not in the JSON.
type hiding struct {
	Shown  string
	hidden big.Int
}

type oddTags struct {
	Quoted   int        `json:",string"`
	QuotedTo *string    `json:",string"`
	Ignored  func()     `json:"-"`
	Zero     zeroInside `json:",omitzero"`
	Time     *metav1.Time
	Float    float64 `json:",omitempty"`
	Small    float32
	Bytes    []byte
	Blobs    [][]byte `json:",omitempty"`
	Array    [2]byteString
	Any      any
	Writes   json.Marshaler
	Numbers  map[int8]string
	Texts    map[byTextKey]string
	EmptyMap map[string]string `json:",omitempty"`
	Struct   struct{ In []string }
}

type byteString string

func oddMakers() map[reflect.Type]func(*samples.Filler) any {
	return map[reflect.Type]func(*samples.Filler) any{
		reflect.TypeFor[big.Int]():    func(f *samples.Filler) any { return *big.NewInt(int64(f.IntN(3))) },
		reflect.TypeFor[byPointer]():  func(f *samples.Filler) any { return byPointer{samples.Pick(f, "", "a", "b")} },
		reflect.TypeFor[byTextKey]():  func(f *samples.Filler) any { return byTextKey{f.IntN(3)} },
		reflect.TypeFor[zeroInside](): func(f *samples.Filler) any { return zeroInside{f.IntN(2), f.IntN(2)} },
		reflect.TypeFor[json.Marshaler](): func(f *samples.Filler) any {
			return samples.Pick[any](f, nil, big.NewInt(1), big.NewInt(2), &byPointer{"a"})
		},
		reflect.TypeFor[hiding](): func(f *samples.Filler) any {
			return hiding{samples.Pick(f, "a", "b"), *big.NewInt(int64(f.IntN(2)))}
		},
		reflect.TypeFor[oddFields](): func(f *samples.Filler) any {
			return oddFields{samples.Pick(f, nil, &embeddedPart{"a"}, &embeddedPart{"b"}), samples.Pick(f, "a", "b")}
		},
	}
}

// TestKeysOfOddTypes: what writes itself, hides fields or has tags of its own.
func TestKeysOfOddTypes(t *testing.T) {
	for _, config := range []runtime.ApplyConfiguration{
		&odd[big.Int]{}, &odd[*big.Int]{}, &odd[byPointer]{}, &odd[*byPointer]{}, &odd[byText]{}, &odd[letter]{}, &odd[byte]{},
		&odd[zeroInside]{}, &odd[oddFields]{}, &odd[hiding]{}, &odd[oddTags]{}, &odd[any]{}, &odd[json.Marshaler]{}, &odd[json.Number]{},
		&odd[json.RawMessage]{}, &odd[float64]{}, &odd[float32]{}, &odd[byteString]{}, &odd[[]byte]{}, &odd[map[string]string]{},
		&odd[metav1.Time]{}, &odd[metav1.FieldsV1]{}, &odd[[2]big.Int]{}, &odd[map[byteString]byPointer]{}, &odd[map[byTextKey]*byText]{},
	} {
		of := reflect.TypeOf(config).Elem()
		k, count := newKeyer(), &keyTally{}
		for round := range uint64(600) {
			one, other := reflect.New(of), reflect.New(of)
			for i, v := range []reflect.Value{one, other} {
				f := samples.NewFiller(7, round)
				maps.Copy(f.Makers, oddMakers())
				f.Fill(v.Elem(), 3)
				if i == 1 {
					f.Change(v.Elem())
				}
			}
			k.compare(t, one, other, count)
		}
		if count.changed < 200 {
			t.Errorf("%v: %+v", of, count)
		}
	}
}

// TestKeyOfBigInt: 1 and 2 hide the same fields.
func TestKeyOfBigInt(t *testing.T) {
	k := newKeyer()
	one, two := &odd[*big.Int]{Here: big.NewInt(1)}, &odd[*big.Int]{Here: big.NewInt(2)}
	a, ok := k.Of(one, "shop", "")
	b, ok2 := k.Of(two, "shop", "")
	if !ok || !ok2 || a == b {
		t.Error("one key for 1 and 2")
	}
}

// TestNoKey: what has no JSON has no key, and what holds itself ends.
func TestNoKey(t *testing.T) {
	k := newKeyer()
	ring := &odd[string]{}
	ring.Next = ring
	lists, maps := nest{nil}, tangle{}
	lists[0], maps["a"] = lists, maps
	for name, config := range map[string]runtime.ApplyConfiguration{
		"not a number": &odd[float64]{Here: math.NaN()}, "infinite": &odd[float32]{Here: float32(math.Inf(1))}, "a ring": ring,
		"a ring of lists": &odd[nest]{Here: lists}, "a ring of maps": &odd[tangle]{Here: maps},
		"a writer that fails": &odd[failing]{}, "a text that fails": &odd[failingText]{}, "no pointer": flat{},
	} {
		if _, ok := k.Of(config, "shop", ""); ok {
			t.Errorf("%s has a key", name)
		}
	}
}

// TestKeyOfTypes: two types of one name, in one place, may have other names for their fields.
func TestKeyOfTypes(t *testing.T) {
	k := newKeyer()
	first, second := func() runtime.ApplyConfiguration {
		type part struct{ A string }
		return &odd[part]{Here: part{"x"}}
	}(), func() runtime.ApplyConfiguration {
		type part struct {
			A string `json:"b"`
		}
		return &odd[part]{Here: part{"x"}}
	}()
	a, ok := k.Of(first, "shop", "")
	if b, ok2 := k.Of(second, "shop", ""); !ok || !ok2 || a == b {
		t.Errorf("one key for %T and %T", first, second)
	}
}
