package faults

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"coapply.dev/test/kit"
)

// cuts are what becomes of the TCP connections of a manager: toxics of toxiproxy.
var cuts = []struct{ name, toxic string }{
	{"reset", `{"name":"cut","type":"reset_peer"}`},
	{"ended in the middle", `{"name":"cut","type":"limit_data","attributes":{"bytes":500}}`},
	{"silent, then closed", `{"name":"cut","type":"timeout"}`},
}

// TestCutConnections cuts the connections of a manager again and again while an object is made, below HTTP, with all that
// is under way on each: watches and writes. The end is that without a cut.
func TestCutConnections(t *testing.T) {
	once(t)
	for _, s := range []scenario{devboxes()[0], slurmControllers()[1]} {
		c := s.follow(t)
		for _, cut := range cuts {
			t.Run(s.kind+" "+s.act+": "+cut.name, func(t *testing.T) {
				t.Parallel()
				proxy := startProxy(t)
				w := s.begin(t, func(w *world) { w.host = "https://" + proxy.Listen })
				w.wire.Arm(nil, nil)
				s.does.do(w)
				const times = 10
				for range times {
					if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(cut.toxic)); err != nil {
						t.Fatal(err)
					}
					kit.Absence(t, 50*time.Millisecond, "the connections to be cut")
					if err := proxy.Toxics.RemoveToxic(t.Context(), "cut"); err != nil {
						t.Fatal(err)
					}
					kit.Absence(t, 50*time.Millisecond, "the manager to connect")
				}
				w.endsAs(&s, c)
				count(t, "cut %d times: %d requests, %d of these and of the watches broken", times, len(w.wire.Requests()), w.wire.Broken())
				if w.wire.Broken() == 0 {
					t.Error("nothing was cut")
				}
			})
		}
	}
}

// startProxy returns a proxy before the control plane.
func startProxy(t *testing.T) *toxiproxy.Proxy {
	t.Helper()
	host, err := url.Parse(kit.Cluster(t).Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "control plane", "127.0.0.1:0", host.Host)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return proxy
}
