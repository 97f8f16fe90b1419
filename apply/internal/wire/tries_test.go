package wire_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
)

func TestTries(t *testing.T) {
	refused := &apply.RefusedError{Err: errors.New("no")}
	for reason, test := range map[string]struct {
		stale     int   // how many are, from the first on
		then      error // what comes after them
		endsAfter int   // when the context ends
		tries     int
		exhausted bool
		err       error
	}{
		"success at once":           {tries: 1},
		"what is not stale at once": {then: refused, tries: 1, err: apply.ErrRefused},
		"success after stale ones":  {stale: 3, tries: 4},
		"refused after stale ones":  {stale: 3, then: refused, tries: 4, err: apply.ErrRefused},
		"success by the last one":   {stale: 7, tries: 8},
		"stale each time":           {stale: 8, tries: 8, exhausted: true, err: apply.ErrStaleWrite},
		"the context ends":          {stale: 8, endsAfter: 2, tries: 2, err: context.Canceled},
		"contended is not stale":    {then: &apply.ContendedError{Err: &apply.StaleWriteError{}}, tries: 1, err: apply.ErrContended},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tried := 0
				exhausted, err := wire.Tries(ctx, apply.IsStaleWrite, func() error {
					if tried++; tried == test.endsAfter {
						cancel()
					}
					if tried <= test.stale {
						return &apply.StaleWriteError{}
					}
					return test.then
				})
				if !errors.Is(err, test.err) || test.err == nil && err != nil || exhausted != test.exhausted || tried != test.tries {
					t.Errorf("exhausted %t by %d tries: %v; want %t by %d: %v", exhausted, tried, err, test.exhausted, test.tries, test.err)
				}
			})
		})
	}
}
