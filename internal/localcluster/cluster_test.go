package localcluster

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestOptions(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for _, test := range []struct {
		reason  string
		options Options
		fails   bool
	}{
		{"the zero value is usable", Options{}, false},
		{"a name becomes a folder", Options{Name: "../up"}, true},
		{"a name has an end", Options{Name: strings.Repeat("a", 41)}, true},
		{"negative nodes", Options{Nodes: -1}, true},
		{"no such port", Options{APIServerPort: 65536}, true},
		{"a taken port", Options{APIServerPort: port}, true},
	} {
		if _, err := test.options.validated(); (err != nil) != test.fails {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
	if _, err := (Options{APIServerPort: port}).validated(); !errors.Is(err, ErrPortTaken) {
		t.Errorf("a taken port: %v; want ErrPortTaken", err)
	}
}

func TestFreePortsAreDistinct(t *testing.T) {
	ports, err := freePorts(6)
	slices.Sort(ports)
	if err != nil || len(slices.Compact(ports)) != 6 {
		t.Errorf("freePorts = %v, %v; want 6 distinct ones", ports, err)
	}
}

func TestStagesAreWhatKwokNeeds(t *testing.T) {
	var out bytes.Buffer
	if err := appendStages(&out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, document := range strings.Split(out.String(), "---\n")[1:] {
		var stage struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &stage); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		got = append(got, stage.Kind+"/"+stage.Metadata.Name)
		if strings.Contains(document, "finalizers:") {
			t.Errorf("%s touches finalizers", stage.Metadata.Name)
		}
	}
	want := []string{
		"Stage/node-heartbeat-with-lease", "Stage/node-initialize", "Stage/pod-complete", "Stage/pod-delete",
		"Stage/pod-ready", "Stage/pod-terminate-now", "Stage/pod-terminate",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("stages %v; want %v", got, want)
	}
}

func TestKwokctlEnvironment(t *testing.T) {
	k := kwokctl{run: &run{dir: "/run/folder"}, name: "x"}
	got := k.environment([]string{"PATH=/usr/bin", "KWOK_RUNTIME=docker", "KUBECONFIG=/home/config", "LANG=C"})
	want := []string{"LANG=C", "PATH=/run/folder/bin:/usr/bin", "KWOK_WORKDIR=/run/folder"}
	if !slices.Equal(got, want) {
		t.Errorf("environment %v; want %v", got, want)
	}
}
