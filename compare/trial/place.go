package trial

import (
	"context"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
)

// place is what a trial takes of a target, so that tests can do without one.
type place struct {
	admin, user *rest.Config
	namespace   string
	// scrape reads the server's counters; the function it gives reads them again and tells the difference.
	scrape func(context.Context, []compare.Kind) func(context.Context) results.Server
}

func placeOf(t *target.Target) place {
	return place{admin: t.Admin(), user: t.User(), namespace: t.Namespace(), scrape: scrapeOf(t)}
}

// scrapeOf gives nothing, which is shown as n/a, where a scrape fails: that is not the arm's fault.
func scrapeOf(t *target.Target) func(context.Context, []compare.Kind) func(context.Context) results.Server {
	return func(ctx context.Context, kinds []compare.Kind) func(context.Context) results.Server {
		before, err := t.Scrape(ctx)
		if err != nil {
			return func(context.Context) results.Server { return results.Server{} }
		}
		return func(ctx context.Context) results.Server {
			after, err := t.Scrape(ctx)
			if err != nil {
				return results.Server{}
			}
			return before.Until(after, kinds...)
		}
	}
}
