package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// snapshot reads the pages of a real API server and etcd, with lines replaced: old, new, old, new.
func snapshot(t *testing.T, replace ...string) Snapshot {
	t.Helper()
	read := func(name string) page {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(replace...).Replace(string(content))
		read, err := readPage(strings.NewReader(text), expfmt.NewFormat(expfmt.TypeTextPlain))
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	return Snapshot{
		apiserver: read("apiserver.txt"), etcd: read("etcd.txt"),
		level: priority{flowSchema: "service-accounts", level: "workload-low"},
	}
}

// later is a second after snapshot in the same processes.
var later = []string{
	"process_cpu_seconds_total 155.46", "process_cpu_seconds_total 157.96",
	"process_cpu_seconds_total 0.66", "process_cpu_seconds_total 0.91",
	"go_memstats_mallocs_total 2.5561332e+07", "go_memstats_mallocs_total 2.5561432e+07",
	"go_memstats_alloc_bytes_total 2.691869976e+09", "go_memstats_alloc_bytes_total 2.691870976e+09",
	`operation="update",resource="devboxes"} 2`, `operation="update",resource="devboxes"} 12`,
	`operation="update",resource="leases"} 6736`, `operation="update",resource="leases"} 6737`,
	`operation="get",resource="devboxes"} 4`, `operation="get",resource="devboxes"} 7`,
	`verb="PATCH",version="v1alpha1"} 0.005081994`, `verb="PATCH",version="v1alpha1"} 0.505081994`,
	`verb="GET",version="v1alpha1"} 0.002132228`, `verb="GET",version="v1alpha1"} 5.002132228`,
	`priority_level="workload-low"} 0.000100795`, `priority_level="workload-low"} 0.250100795`,
	"proposals_committed_total 261", "proposals_committed_total 281",
}

func kind(group, resource string) compare.Kind {
	return compare.Kind{GroupVersionKind: schema.GroupVersionKind{Group: group}, Resource: resource}
}

func wantServer(t *testing.T, got, want results.Server) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUntil(t *testing.T) {
	want := results.Server{
		APIServerCPU: new(2.5), EtcdCPU: new(0.25), APIServerAllocs: new(100.0), APIServerBytes: new(1000.0),
		RequestSeconds: new(0.5), Updates: new(11.0), Gets: new(3.0), Proposals: new(20.0),
		QueueSeconds: new(0.25), PriorityLevel: "workload-low",
	}
	before, after := snapshot(t), snapshot(t, later...)
	wantServer(t, before.Until(after), want)

	want.Updates = new(10.0) // without the leases
	wantServer(t, before.Until(after, kind("platform.coapply.dev", "devboxes")), want)

	if got := before.Until(after, kind("other.example", "devboxes")).Updates; got == nil || *got != 0 {
		t.Errorf("updates of another group's devboxes are %v; want 0", got)
	}

	want.Updates, want.Gets, want.RequestSeconds = new(0.0), new(0.0), new(0.0) // counted, and none of them
	wantServer(t, before.Until(after, kind("", "configmaps")), want)
}

func TestUntilKnowsWhatIsMissing(t *testing.T) {
	before, after := snapshot(t), snapshot(t, later...)
	wantServer(t, Snapshot{}.Until(Snapshot{}), results.Server{})
	wantServer(t, before.Until(Snapshot{}), results.Server{})

	// Forbidden, or not local.
	after.etcd = nil
	if got := before.Until(after); got.EtcdCPU != nil || got.Proposals != nil || got.APIServerCPU == nil {
		t.Errorf("without etcd's page: CPU %v, proposals %v, the API server's CPU %v; want nil, nil, a value",
			got.EtcdCPU, got.Proposals, got.APIServerCPU)
	}
	for _, name := range wanted {
		if name == startTime {
			continue
		}
		before, after := snapshot(t), snapshot(t, later...)
		delete(after.apiserver, name)
		delete(after.etcd, name)
		missing := 0
		server := before.Until(after)
		for _, value := range []*float64{
			server.APIServerCPU, server.EtcdCPU, server.APIServerAllocs, server.APIServerBytes, server.RequestSeconds,
			server.Updates, server.Gets, server.Proposals, server.QueueSeconds,
		} {
			if value == nil {
				missing++
			}
		}
		if missing == 0 {
			t.Errorf("without %s nothing is missing", name)
		}
	}
}

// Before version 1.34 the API server told etcd's requests apart by another label.
func TestUntilNeedsTheLabelsThatItSelectsBy(t *testing.T) {
	other := []string{`group="platform.coapply.dev",operation=`, "operation=", `resource="devboxes"} `, `type="devboxes"} `}
	before, after := snapshot(t, other...), snapshot(t, append(other, later...)...)
	for _, s := range []Snapshot{before, after} {
		s.apiserver[etcdRequests] = s.apiserver[etcdRequests][len(s.apiserver[etcdRequests])-3:] // without the other resources
	}
	if got := before.Until(after, kind("platform.coapply.dev", "devboxes")).Updates; got != nil {
		t.Errorf("updates of devboxes are %v; want nil, for the page does not tell them from others", *got)
	}
	if got := before.Until(after).Updates; got == nil {
		t.Error("all updates are nil; want a value")
	}
}

func TestUntilOfAProcessThatBeganAgain(t *testing.T) {
	restart := []string{"process_start_time_seconds 1.7952649678e+09", "process_start_time_seconds 1.7952699999e+09"}
	wantServer(t, snapshot(t).Until(snapshot(t, append(restart, later...)...)), results.Server{PriorityLevel: "workload-low"})
	if got := snapshot(t, later...).Until(snapshot(t)).APIServerCPU; got != nil {
		t.Errorf("a counter that fell has grown by %v; want nil", *got)
	}
}

// A counter with labels is on the page only once it has counted.
func TestUntilOfWhatWasFirstCountedBetween(t *testing.T) {
	before, after := snapshot(t), snapshot(t, later...)
	delete(before.apiserver, etcdRequests)
	delete(before.apiserver, cpuSeconds)
	got := before.Until(after, kind("platform.coapply.dev", "devboxes"))
	if got.Updates == nil || *got.Updates != 12 {
		t.Errorf("updates are %v; want all 12", got.Updates)
	}
	if got.APIServerCPU != nil {
		t.Errorf("CPU is %v; want nil: it was not known before", *got.APIServerCPU)
	}
}

func TestReadPageRefusesWhatIsNone(t *testing.T) {
	_, err := readPage(strings.NewReader("<html>\n"), expfmt.NewFormat(expfmt.TypeTextPlain))
	if err == nil {
		t.Error("a page of HTML is read")
	}
}
