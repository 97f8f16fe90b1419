package apply

import (
	"net/http"

	"coapply.dev/apply/internal/wire"
)

// RecordExchange lets appliers read from the HTTP exchange what the client's
// answer does not say: how many requests went out, client-go's own retries
// included, and whether the object was created or left unchanged. Wrap the
// rest.Config with it before any client is made from it:
//
//	cfg.Wrap(apply.RecordExchange)
//
// Without RecordExchange an Outcome counts calls of the client instead of requests and is
// Configured where it might be Created or Unchanged, and the writes of a process to one object
// go one at a time, however far the API server is: RecordExchange also measures the round trip,
// by a GET of /livez now and then while applies wait for each other. Only requests of an
// Applier are recorded.
func RecordExchange(next http.RoundTripper) http.RoundTripper { return wire.RecordExchange(next) }
