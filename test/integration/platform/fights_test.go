package platform

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	v1alpha1ac "coapply.dev/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/internal/controller/fights"
	"coapply.dev/test/kit"
)

// startFights runs the reconcilers of namespaced kinds and the fight detector, with
// short times.
func startFights(t *testing.T) *kit.Platform {
	t.Helper()
	return startFightsIn(t, kit.NewNamespace(t, kit.NewClient(t, kit.Cluster(t).Config())), shortTimes)
}

var shortTimes = contention.Config{PerMinute: 3, CoolDown: time.Second, Trial: 3 * time.Second}

func startFightsIn(t *testing.T, namespace string, config contention.Config) *kit.Platform {
	t.Helper()
	restConfig := kit.Cluster(t).Config()
	p := &kit.Platform{Client: kit.NewClient(t, restConfig), Namespace: namespace}
	var err error
	of := fights.Config()
	config.Ours, config.HowToStop = of.Ours, of.HowToStop
	if p.Contention, err = contention.New(config); err != nil {
		t.Fatal(err)
	}
	p.Run(t, restConfig, apply.Force)
	return p
}

// contended gives the condition of a Devbox, nil if it never had one.
func contended(t *testing.T, p *kit.Platform, name string) *metav1.Condition {
	t.Helper()
	box := p.Get(t, name, &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	return meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionContended)
}

func waitForContended(t *testing.T, p *kit.Platform, name string, status metav1.ConditionStatus, says ...string) {
	t.Helper()
	kit.WaitFor(t, "Contended is "+string(status), func() string { return unlessContended(t, p, name, status, says...) })
}

func unlessContended(t *testing.T, p *kit.Platform, name string, status metav1.ConditionStatus, says ...string) string {
	t.Helper()
	condition := contended(t, p, name)
	if condition == nil || condition.Status != status {
		return fmt.Sprint("it is ", condition)
	}
	for _, text := range says {
		if !strings.Contains(condition.Reason+": "+condition.Message, text) {
			return fmt.Sprintf("it does not say %q: %v", text, condition)
		}
	}
	return ""
}

// waitForEvent waits for an event on an object that says all that.
func waitForEvent(t *testing.T, p *kit.Platform, kind, name, reason string, says ...string) {
	t.Helper()
	kit.WaitFor(t, "an event on "+kind+" "+name, func() string {
		var all eventsv1.EventList
		if err := p.Client.List(t.Context(), &all, client.InNamespace(p.Namespace)); err != nil {
			return err.Error()
		}
		var seen []string
	next:
		for _, event := range all.Items {
			if event.Regarding.Kind != kind || event.Regarding.Name != name || event.Reason != reason {
				continue
			}
			seen = append(seen, event.Note)
			for _, text := range says {
				if !strings.Contains(event.Note, text) {
					continue next
				}
			}
			return ""
		}
		return fmt.Sprintf("none says %q among %q", says, seen)
	})
}

// scaleBot sets replicas through the scale subresource whenever they are not what it
// wants, until the context ends.
func scaleBot(ctx context.Context, p *kit.Platform, name string, replicas int32) {
	for ctx.Err() == nil {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name}}
		scale := &autoscalingv1.Scale{}
		if err := p.Client.SubResource("scale").Get(ctx, deployment, scale); err == nil && scale.Spec.Replicas != replicas {
			scale.Spec.Replicas = replicas
			_ = p.Client.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale), client.FieldOwner("kubectl-scale-bot"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// wake has whoever watches the Deployment reconcile, as its generation changes.
func wake(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	deployment := p.Get(t, name, &appsv1.Deployment{}).(*appsv1.Deployment)
	note := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/note":%q}}}`, time.Now())
	if err := p.Client.Patch(t.Context(), deployment, client.RawPatch("application/merge-patch+json", note), client.FieldOwner("person")); err != nil {
		t.Fatal(err)
	}
}

// forced counts the applies that took a field.
func forced(p *kit.Platform) int {
	p.Applies.Mu.Lock()
	defer p.Applies.Mu.Unlock()
	n := 0
	for _, a := range p.Applies.Applies {
		if a.Conflicts[apply.Force] > 0 && a.Result == string(apply.Configured) {
			n++
		}
	}
	return n
}

func replicas(t *testing.T, p *kit.Platform, name string) int32 {
	t.Helper()
	return *p.Get(t, name, &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas
}

func waitForReplicas(t *testing.T, p *kit.Platform, name string, want int32) {
	t.Helper()
	kit.WaitFor(t, "the value of the other", func() string {
		if n := replicas(t, p, name); n != want {
			return fmt.Sprintf("%d replicas, want %d", n, want)
		}
		return ""
	})
}

// TestFight has somebody scale a Devbox that is Running by force.
func TestFight(t *testing.T) {
	t.Parallel()
	// Who does not try again while half-open has nothing to force any more: here that is time for a slow machine.
	patient := contention.Config{PerMinute: 3, CoolDown: time.Second, Trial: 15 * time.Second}
	p := startFightsIn(t, kit.NewNamespace(t, kit.NewClient(t, kit.Cluster(t).Config())), patient)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	if c := contended(t, p, "box"); c != nil {
		t.Fatalf("before anybody fought: %v", c)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan struct{})
	go func() { scaleBot(ctx, p, "box", 3); close(stopped) }()

	who := []string{".spec.replicas of Deployment", "coapply-devbox-power/Apply", "kubectl-scale-bot/Update[scale]"}
	waitForContended(t, p, "box", metav1.ConditionTrue, append(who, "OwnershipFight: ", "coapply-devbox-power does not force it")...)
	waitForEvent(t, p, "Deployment", "box", contention.ReasonFight, append(who, "more than 3 times")...)
	waitForEvent(t, p, "Devbox", "box", contention.ReasonFight, who...)
	if n := forced(p); n < 2 || n > 4 {
		t.Errorf("ours forced %d times before it stopped", n)
	}

	p.Quiet(t, 500*time.Millisecond) // nobody tries again and again
	waitForReplicas(t, p, "box", 3)

	t.Log("the other goes on: ours tries once each time, and gives way")
	var before int
	began := time.Now()
	kit.WaitFor(t, "one more try", func() string {
		if before == 0 {
			before = forced(p)
		}
		wake(t, p, "box")
		if forced(p) == before {
			return "none"
		}
		return ""
	})
	waitForEvent(t, p, "Deployment", "box", contention.ReasonFight, "taken back after one more try")
	waitForReplicas(t, p, "box", 3)
	for range 5 {
		wake(t, p, "box")
	}
	if n, most := forced(p)-before, tries(time.Since(began)); n > most {
		t.Errorf("ours forced %d times while it had to wait; the cool-downs leave room for %d", n, most)
	}
	waitForReplicas(t, p, "box", 3) // those of the other, who may just be about to force them again

	t.Log("the other stops")
	stop()
	<-stopped
	kit.WaitFor(t, "ours takes it back", func() string {
		wake(t, p, "box")
		if n := replicas(t, p, "box"); n != 1 {
			return fmt.Sprint(n, " replicas")
		}
		return ""
	})
	waitForContended(t, p, "box", metav1.ConditionFalse, "Calm")
	wantMetrics(t, p, `
		coapply_fights_total{kind="Deployment.apps",manager="coapply-devbox-power",other="kubectl-scale-bot",reason="OwnershipFight"} 1
		coapply_fights_active{reason="OwnershipFight"} 0
		coapply_fights_active{reason="ReconcileLoop"} 0
		coapply_fights_active{reason="UnknownWriter"} 0
	`)
}

// tries is how often the shortest of cool-downs, each twice as long as the one before, end in a time.
func tries(elapsed time.Duration) int {
	n := 1 // what ended just before
	for coolDown := shortTimes.CoolDown; elapsed > 0; coolDown *= 2 {
		elapsed -= coolDown
		n++
	}
	return n
}

// wantMetrics compares what the detector counted.
func wantMetrics(t *testing.T, p *kit.Platform, want string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("# HELP coapply_fights_active Fights and loops that go on, or whose field ours has not dared to force again.\n# TYPE coapply_fights_active gauge\n")
	var counters []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "coapply_fights_active") {
			text.WriteString(line + "\n")
		} else if line != "" {
			counters = append(counters, line)
		}
	}
	text.WriteString("# HELP coapply_fights_total Fights of two field managers for a field (OwnershipFight), pairs of ours that answer each other without end (ReconcileLoop), and managers of ours under whose name somebody else writes (UnknownWriter; other is empty), when they began.\n# TYPE coapply_fights_total counter\n")
	text.WriteString(strings.Join(counters, "\n") + "\n")
	if err := testutil.CollectAndCompare(p.Contention, strings.NewReader(text.String())); err != nil {
		t.Error(err)
	}
}

// TestFightWithAutoscaler has the real kube-controller-manager raise the replicas to an
// autoscaler's minimum, for which it needs no metrics, every 15 seconds.
func TestFightWithAutoscaler(t *testing.T) {
	t.Parallel()
	namespace := kit.NewNamespace(t, kit.NewClient(t, kit.Cluster(t).Config()))
	p := startFightsIn(t, namespace, contention.Config{PerMinute: 2}) // it takes it, ours does, and it once more
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	two := int32(2)
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "box"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "box"},
			MinReplicas:    &two, MaxReplicas: 5,
		},
	}
	if err := p.Client.Create(t.Context(), autoscaler); err != nil {
		t.Fatal(err)
	}
	waitForContended(t, p, "box", metav1.ConditionTrue, ".spec.replicas", "coapply-devbox-power/Apply", "kube-controller-manager/Update[scale]")
	waitForReplicas(t, p, "box", 2)
	p.Quiet(t, time.Second)
	if n := replicas(t, p, "box"); n != 2 {
		t.Errorf("%d replicas: the autoscaler's value did not stay", n)
	}
}

// TestMarkLeftBehind has a manager start where another one ended in the middle of a
// fight.
func TestMarkLeftBehind(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	before := &kit.Platform{Client: c, Namespace: namespace}
	before.Create(t, "box")
	contended := metav1.Condition{Type: v1alpha1.ConditionContended, Status: metav1.ConditionTrue, Reason: contention.ReasonFight, Message: "somebody fought"}
	config := v1alpha1ac.Devbox("box", namespace).WithStatus(v1alpha1ac.DevboxStatus().
		WithConditions(apply.Conditions(nil, metav1.Now(), contended)...))
	if err := c.Status().Apply(t.Context(), config, client.FieldOwner("coapply-fights")); err != nil {
		t.Fatal(err)
	}
	p := startFightsIn(t, namespace, shortTimes)
	waitForContended(t, p, "box", metav1.ConditionFalse, "Calm")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	kit.WaitFor(t, "every reconciler reports beside it", func() string {
		return kit.UnlessApplied(p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox))
	})
}
