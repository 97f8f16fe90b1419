package platform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

func createNodeSet(t *testing.T, p *kit.Platform, name string, replicas int32, change ...func(*v1alpha1.NodeSet)) *v1alpha1.NodeSet {
	t.Helper()
	set := &v1alpha1.NodeSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec:       v1alpha1.NodeSetSpec{Image: "registry.example.com/slurmd:1", Replicas: &replicas},
	}
	for _, c := range change {
		c(set)
	}
	if err := p.Client.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	return set
}

// scale as kubectl does, through the scale subresource.
func scale(t *testing.T, p *kit.Platform, name string, replicas int) {
	t.Helper()
	kubectl(t, "scale", "--namespace", p.Namespace, "nodeset/"+name, "--replicas="+strconv.Itoa(replicas))
}

// waitForNodes waits until a NodeSet has what its spec wants, and no pod more.
func waitForNodes(t *testing.T, p *kit.Platform, name string) *v1alpha1.NodeSet {
	t.Helper()
	var set v1alpha1.NodeSet
	kit.WaitFor(t, "NodeSet "+name+" is ready", func() string {
		p.Get(t, name, &set)
		n := *set.Spec.Replicas
		s := set.Status
		ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || s.ObservedGeneration != set.Generation ||
			s.Replicas != n || s.ReadyReplicas != n || s.UpdatedReplicas != n {
			return fmt.Sprintf("%d wanted: %+v", n, s)
		}
		if pods := nodes(t, p, name); len(pods) != int(n) {
			return fmt.Sprintf("%d pods, want %d", len(pods), n)
		}
		return ""
	})
	return &set
}

func nodes(t *testing.T, p *kit.Platform, name string) []corev1.Pod {
	t.Helper()
	var set v1alpha1.NodeSet
	p.Get(t, name, &set)
	selector, err := metav1.ParseToLabelSelector(set.Status.Selector)
	if err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	if err := p.Client.List(t.Context(), &pods, client.InNamespace(p.Namespace), client.MatchingLabels(selector.MatchLabels)); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// podHistory is every pod that there ever was in a namespace, from a watch that began
// before the first.
type podHistory struct {
	mu     sync.Mutex
	uids   map[string][]types.UID // by name, in their order
	now    map[string]*corev1.Pod
	wanted []string // whose availability counts
	worst  int      // how many of them were missing or not ready at one time
}

func history(t *testing.T, p *kit.Platform) *podHistory {
	t.Helper()
	watching, err := client.NewWithWatch(kit.Cluster(t).Config(), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	var before corev1.PodList
	if err := watching.List(t.Context(), &before, client.InNamespace(p.Namespace)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	pods := &toolscache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return watching.Watch(ctx, &corev1.PodList{}, &client.ListOptions{Namespace: p.Namespace, Raw: &options})
	}}
	// An API server that is busy closes a watch that does not keep up. This one goes on where it was.
	events, err := watchtools.NewRetryWatcherWithContext(ctx, before.ResourceVersion, pods)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	h := &podHistory{uids: map[string][]types.UID{}, now: map[string]*corev1.Pod{}}
	for i := range before.Items {
		h.add(watch.Event{Type: watch.Added, Object: &before.Items[i]})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			h.add(event)
		}
	}()
	t.Cleanup(func() { cancel(); events.Stop(); <-done })
	return h
}

func (h *podHistory) add(event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.uids[pod.Name], pod.UID) {
		h.uids[pod.Name] = append(h.uids[pod.Name], pod.UID)
	}
	if h.now[pod.Name] = pod; event.Type == watch.Deleted {
		delete(h.now, pod.Name)
	}
	unavailable := 0
	for _, name := range h.wanted {
		if !isAvailable(h.now[name]) {
			unavailable++
		}
	}
	h.worst = max(h.worst, unavailable)
}

func isAvailable(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// follow counts from now on how many of the first pods of a NodeSet are available.
func (h *podHistory) follow(t *testing.T, set string, replicas int) {
	t.Helper()
	kit.WaitFor(t, "the watch shows them ready", func() string {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.wanted, h.worst = nil, 0
		for ordinal := range replicas {
			name := fmt.Sprintf("%s-%d", set, ordinal)
			if h.wanted = append(h.wanted, name); !isAvailable(h.now[name]) {
				return name + " is not"
			}
		}
		return ""
	})
}

// want holds the pods that there were to how many there should have been of each
// ordinal, written as 0-4:1 5-11:2.
func (h *podHistory) want(t *testing.T, set, counts string) {
	t.Helper()
	want := map[string]int{}
	for part := range strings.FieldsSeq(counts) {
		var from, to, n int
		if _, err := fmt.Sscanf(part, "%d-%d:%d", &from, &to, &n); err != nil {
			t.Fatal(err)
		}
		for ordinal := from; ordinal <= to; ordinal++ {
			want[fmt.Sprintf("%s-%d", set, ordinal)] = n
		}
	}
	kit.WaitFor(t, "pods as there should have been", func() string {
		h.mu.Lock()
		defer h.mu.Unlock()
		for name := range h.uids {
			if want[name] == 0 {
				return "there was a " + name
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got := len(h.uids[name]); got != want[name] {
				return fmt.Sprintf("%d pods were %s, want %d", got, name, want[name])
			}
		}
		return ""
	})
}

func (h *podHistory) wantReplaced(t *testing.T, pod string) {
	t.Helper()
	kit.WaitFor(t, pod+" is replaced", func() string {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.uids[pod]) < 2 {
			return "it is not"
		}
		return ""
	})
}

func (h *podHistory) wantUnavailable(t *testing.T, most int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.worst > most {
		t.Errorf("%d wanted pods were missing or not ready at one time, at most %d may be", h.worst, most)
	}
	if h.worst == 0 {
		t.Error("the watch shows no pod that was replaced")
	}
}
