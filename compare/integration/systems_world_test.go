package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	recorded "coapply.dev/compare/history"
	"coapply.dev/compare/workloads"
	"coapply.dev/test/kit"
)

// playedSystem is what came of a workload under one arm.
type playedSystem struct {
	outcomes map[recorded.Outcome]int
	extra    map[string]float64
	// requests are those of the arm. resource is the resource that it writes.
	requests *kit.Recorder
	resource string
	// left are the objects before Clean, by name.
	left map[string]*unstructured.Unstructured
}

// landed returns the number of intents that landed.
func (p playedSystem) landed() int { return p.outcomes[recorded.Landed] }

// sent returns the number of requests for the workload's resource that the arm sent with a verb, or with any verb if the verb is "".
func (p playedSystem) sent(verb string) int {
	return p.requests.Count(kit.Request{Verb: verb, Resource: p.resource})
}

// stale returns the number of updates that the API server rejected. All other updates of intents landed.
func (p playedSystem) stale() int { return p.sent("update") - p.landed() }

// giveUps formats the share of the intents that did not land.
func (p playedSystem) giveUps() string {
	all := 0
	for _, n := range p.outcomes {
		all += n
	}
	return percent(all-p.landed(), all) + " give up"
}

// percent formats n as a share of all.
func percent(n, all int) string { return fmt.Sprintf("%.3g %%", 100*float64(n)/float64(all)) }

// published logs a row of the table that make systems prints: what was published about a system, the published figure, and the figure measured
// here. Further lines of the text, such as a contradiction, are rows without figures.
func published(t *testing.T, system, text, figure, measured string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		row := strings.TrimRight(fmt.Sprintf("%-17s %-43s %-15s %s", system, line, figure, measured), " ")
		if utf8.RuneCountInString(row) > 100 {
			t.Errorf("this row is wider than 100 columns: %s", row)
		}
		t.Log("published: " + row)
		system, figure, measured = "", "", ""
	}
}

// playSystem runs a workload as a trial does, but counts only the requests, and wants nothing to be left of it.
func playSystem(t *testing.T, config *rest.Config, workloadName, armName string, change func(*compare.Parameters)) playedSystem {
	t.Helper()
	workload, found := compare.Catalogue{Workloads: workloads.All()}.Workload(workloadName)
	if !found {
		t.Fatalf("there is no workload %s", workloadName)
	}
	arm := armNamed(t, armName)
	c := kit.NewClient(t, config)
	requests := &kit.Recorder{}
	counted := rest.CopyConfig(config)
	counted.Wrap(requests.Wrap)
	writes := kit.NewClient(t, counted)
	session := compare.Session{
		Client: func(string) client.Client { return writes }, Config: func(string) *rest.Config { return rest.CopyConfig(counted) },
		Schemas: schemasOf(t, config),
	}
	stage := compare.Stage{
		Admin: c, Namespace: kit.NewNamespace(t, c), Arm: armName, Parameters: workload.Defaults,
		Note: func(compare.Intent) {}, Cache: func() client.Reader { return session.Cache },
	}
	stage.Prefix = stage.Namespace + "-1-"
	change(&stage.Parameters)
	run, err := workload.Prepare(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	if arm.Cached || workload.SharedCache {
		session.Cache = openCache(t, config, stage.Namespace, run.Kinds()[0], workload.SharedCache)
	}
	writer, err := arm.New(session)
	if err != nil {
		t.Fatal(err)
	}
	p := playedSystem{requests: requests, resource: run.Kinds()[0].Resource, outcomes: writeAll(t, run, stage, arm, writer)}
	if p.extra, err = run.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	p.left = ofTrial(t, c, run, stage)
	for range 2 { // what is clean is cleaned again without an error
		if err := run.Clean(t.Context()); err != nil {
			t.Error(err)
		}
	}
	waitGone(t, c, run, stage)
	return p
}

// writeAll has all writers write the intents of Rounds rounds, with the workload's background beside them.
func writeAll(t *testing.T, run compare.Run, stage compare.Stage, arm compare.Arm, writer compare.Writer) map[recorded.Outcome]int {
	t.Helper()
	var mu sync.Mutex
	outcomes := map[recorded.Outcome]int{}
	ctx, cancel := context.WithCancel(t.Context())
	var background, writers sync.WaitGroup
	background.Go(func() {
		if err := run.Background(ctx); err != nil {
			t.Error(err)
		}
	})
	for i := range stage.Writers {
		writers.Go(func() {
			for sequence := range stage.Rounds {
				intent, more, err := run.Next(ctx, i, sequence)
				if err != nil {
					t.Errorf("intent %d of writer %d: %v", sequence, i, err)
				}
				if !more {
					return
				}
				parts := intent.Parts
				if arm.Whole || len(parts) == 0 {
					parts = []compare.Intent{intent}
				}
				for _, part := range parts {
					_, err := writer.Write(ctx, part)
					mu.Lock()
					outcomes[arms.Classify(err)]++
					mu.Unlock()
				}
			}
		})
	}
	writers.Wait()
	cancel()
	background.Wait()
	return outcomes
}

func openCache(t *testing.T, config *rest.Config, namespace string, kind compare.Kind, shared bool) client.Reader {
	t.Helper()
	informers := kit.StartCache(t, config, cache.Options{
		DefaultNamespaces: map[string]cache.Config{namespace: {}}, DefaultUnsafeDisableDeepCopy: &shared,
	})
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind.GroupVersionKind)
	if _, err := informers.GetInformer(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return informers
}

// ofTrial are the objects of the workload's kind that are the trial's and not on their way out.
func ofTrial(t *testing.T, c client.Client, run compare.Run, stage compare.Stage) map[string]*unstructured.Unstructured {
	t.Helper()
	kind := run.Kinds()[0]
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersionKind)
	var options []client.ListOption
	if !kind.Cluster {
		options = append(options, client.InNamespace(stage.Namespace))
	}
	if err := c.List(t.Context(), list, options...); err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, o := range list.Items {
		if strings.HasPrefix(o.GetName(), stage.Prefix) && o.GetDeletionTimestamp() == nil {
			objects[strings.TrimPrefix(o.GetName(), stage.Prefix)] = &o
		}
	}
	return objects
}

func waitGone(t *testing.T, c client.Client, run compare.Run, stage compare.Stage) {
	t.Helper()
	for deadline := time.Now().Add(kit.Patience); ; time.Sleep(20 * time.Millisecond) {
		left := ofTrial(t, c, run, stage)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			names := []string{}
			for name := range left {
				names = append(names, name)
			}
			slices.Sort(names)
			t.Fatalf("after Clean there are %v", names)
		}
	}
}
