package trial

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
)

// place is the part of a target that a trial needs. Tests use a place without a target.
type place struct {
	admin, user *rest.Config
	namespace   string
	// scrape reads the counters of the server. The returned function reads them again and returns the difference.
	scrape func(context.Context, []compare.Kind) func(context.Context) results.Server
	// serverCores and generatorCores are the numbers of cores for the servers and for the benchmark's processes; 0 if a
	// number is not known.
	serverCores, generatorCores int
}

// bottleneck is a share of the load generator's cores. The load generator is reported as a trial's bottleneck if its
// CPU usage reaches this share and exceeds the usage of the API server and etcd together.
const bottleneck = 0.8

// load computes the CPU usage of each part of the system.
func (p place) load(elapsed time.Duration, client results.Client, server results.Server) results.Shares {
	share := func(seconds *float64, cores int) *float64 {
		if seconds == nil || cores == 0 {
			return nil
		}
		return new(*seconds / elapsed.Seconds() / float64(cores))
	}
	s := results.Shares{
		Generator: share(&client.CPU, p.generatorCores), APIServer: share(server.APIServerCPU, p.serverCores),
		Etcd: share(server.EtcdCPU, p.serverCores),
	}
	if s.Generator == nil || *s.Generator < bottleneck {
		return s
	}
	served := 0.0
	for _, part := range []*float64{s.APIServer, s.Etcd} {
		if part != nil {
			served += *part
		}
	}
	if served < *s.Generator {
		s.Bottleneck = "generator"
	}
	return s
}

func placeOf(t *target.Target) place {
	p := place{admin: t.Admin(), user: t.User(), namespace: t.Namespace()}
	p.serverCores, p.generatorCores = t.Cores()
	p.scrape = func(ctx context.Context, kinds []compare.Kind) func(context.Context) results.Server {
		before := t.Scrape(ctx)
		return func(ctx context.Context) results.Server { return before.Until(t.Scrape(ctx), kinds...) }
	}
	return p
}
