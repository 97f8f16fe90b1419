package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"coapply.dev/api/v1alpha1"
	v1alpha1ac "coapply.dev/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/internal/controller/fights"
)

// startFights runs the reconcilers of namespaced kinds and the fight detector, with
// short times.
func startFights(t *testing.T) *platform {
	t.Helper()
	return startFightsIn(t, newNamespace(t, newClient(t, cluster(t).Config())), shortTimes)
}

var shortTimes = contention.Config{PerMinute: 3, CoolDown: time.Second, Trial: 3 * time.Second}

func startFightsIn(t *testing.T, namespace string, config contention.Config) *platform {
	t.Helper()
	restConfig := cluster(t).Config()
	p := &platform{client: newClient(t, restConfig), namespace: namespace, writes: &writeLog{}, applies: &applyLog{}}
	var err error
	of := fights.Config()
	config.Ours, config.Tells, config.HowToStop = of.Ours, of.Tells, of.HowToStop
	p.contention, err = contention.New(config)
	if err != nil {
		t.Fatal(err)
	}
	p.run(t, restConfig, apply.Force)
	return p
}

// contended gives the condition of a Devbox, nil if it never had one.
func (p *platform) contended(t *testing.T, name string) *metav1.Condition {
	t.Helper()
	box := p.get(t, name, &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	return meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionContended)
}

func (p *platform) waitForContended(t *testing.T, name string, status metav1.ConditionStatus, says ...string) {
	t.Helper()
	waitFor(t, "Contended is "+string(status), func() string {
		condition := p.contended(t, name)
		if condition == nil || condition.Status != status {
			return fmt.Sprint("it is ", condition)
		}
		for _, text := range says {
			if !strings.Contains(condition.Reason+": "+condition.Message, text) {
				return fmt.Sprintf("it does not say %q: %v", text, condition)
			}
		}
		return ""
	})
}

// waitForEvent waits for an event on an object that says all that.
func (p *platform) waitForEvent(t *testing.T, kind, name, reason string, says ...string) {
	t.Helper()
	waitFor(t, "an event on "+kind+" "+name, func() string {
		var all eventsv1.EventList
		if err := p.client.List(t.Context(), &all, client.InNamespace(p.namespace)); err != nil {
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
func (p *platform) scaleBot(ctx context.Context, name string, replicas int32) {
	for ctx.Err() == nil {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
		scale := &autoscalingv1.Scale{}
		if err := p.client.SubResource("scale").Get(ctx, deployment, scale); err == nil && scale.Spec.Replicas != replicas {
			scale.Spec.Replicas = replicas
			_ = p.client.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale), client.FieldOwner("kubectl-scale-bot"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// wake has whoever watches the Deployment reconcile, as its generation changes.
func (p *platform) wake(t *testing.T, name string) {
	t.Helper()
	deployment := p.get(t, name, &appsv1.Deployment{}).(*appsv1.Deployment)
	note := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/note":%q}}}`, time.Now())
	if err := p.client.Patch(t.Context(), deployment, client.RawPatch("application/merge-patch+json", note), client.FieldOwner("person")); err != nil {
		t.Fatal(err)
	}
}

// forced counts the applies that took a field.
func (p *platform) forced() int {
	p.applies.mu.Lock()
	defer p.applies.mu.Unlock()
	n := 0
	for _, a := range p.applies.applies {
		if a.Conflicts[apply.Force] > 0 && a.Result == string(apply.Configured) {
			n++
		}
	}
	return n
}

func (p *platform) replicas(t *testing.T, name string) int32 {
	t.Helper()
	return *p.get(t, name, &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas
}

func (p *platform) waitForReplicas(t *testing.T, name string, want int32) {
	t.Helper()
	waitFor(t, "the value of the other", func() string {
		if n := p.replicas(t, name); n != want {
			return fmt.Sprintf("%d replicas, want %d", n, want)
		}
		return ""
	})
}

// TestFight has somebody scale a Devbox that is Running by force.
func TestFight(t *testing.T) {
	t.Parallel()
	p := startFights(t)
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	if c := p.contended(t, "box"); c != nil {
		t.Fatalf("before anybody fought: %v", c)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan struct{})
	go func() { p.scaleBot(ctx, "box", 3); close(stopped) }()

	who := []string{".spec.replicas of Deployment", "coapply-devbox-power/Apply", "kubectl-scale-bot/Update[scale]"}
	p.waitForContended(t, "box", metav1.ConditionTrue, append(who, "OwnershipFight: ", "coapply-devbox-power does not force it")...)
	p.waitForEvent(t, "Deployment", "box", contention.ReasonFight, append(who, "more than 3 times")...)
	p.waitForEvent(t, "Devbox", "box", contention.ReasonFight, who...)
	if n := p.forced(); n < 2 || n > 4 {
		t.Errorf("ours forced %d times before it stopped", n)
	}

	p.quiet(t, 500*time.Millisecond) // nobody tries again and again
	if n := p.replicas(t, "box"); n != 3 {
		t.Errorf("replicas are %d, want those of the other", n)
	}

	t.Log("the other goes on: ours tries once each time, and gives way")
	var before int
	waitFor(t, "one more try", func() string {
		if before == 0 {
			before = p.forced()
		}
		p.wake(t, "box")
		if p.forced() == before {
			return "none"
		}
		return ""
	})
	p.waitForEvent(t, "Deployment", "box", contention.ReasonFight, "taken back after one more try")
	p.waitForReplicas(t, "box", 3)
	for range 5 {
		p.wake(t, "box")
	}
	if n := p.forced(); n > before+2 { // the watch may be a step behind
		t.Errorf("ours forced %d times while it had to wait", n-before)
	}
	if p.replicas(t, "box") != 3 {
		t.Errorf("replicas are %d, want those of the other", p.replicas(t, "box"))
	}

	t.Log("the other stops")
	stop()
	<-stopped
	waitFor(t, "ours takes it back", func() string {
		p.wake(t, "box")
		if n := p.replicas(t, "box"); n != 1 {
			return fmt.Sprint(n, " replicas")
		}
		return ""
	})
	p.waitForContended(t, "box", metav1.ConditionFalse, "Calm")
	wantMetrics(t, p, `
		coapply_fights_total{kind="Deployment.apps",manager="coapply-devbox-power",other="kubectl-scale-bot",reason="OwnershipFight"} 1
		coapply_fights_active{reason="OwnershipFight"} 0
		coapply_fights_active{reason="ReconcileLoop"} 0
		coapply_fights_active{reason="UnknownWriter"} 0
	`)
}

// wantMetrics compares what the detector counted.
func wantMetrics(t *testing.T, p *platform, want string) {
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
	if err := testutil.CollectAndCompare(p.contention, strings.NewReader(text.String())); err != nil {
		t.Error(err)
	}
}

// TestFightWithAutoscaler has the real kube-controller-manager raise the replicas to an
// autoscaler's minimum, for which it needs no metrics, every 15 seconds.
func TestFightWithAutoscaler(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, newClient(t, cluster(t).Config()))
	p := startFightsIn(t, namespace, contention.Config{PerMinute: 2}) // it takes it, ours does, and it once more
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	two := int32(2)
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "box"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "box"},
			MinReplicas:    &two, MaxReplicas: 5,
		},
	}
	if err := p.client.Create(t.Context(), autoscaler); err != nil {
		t.Fatal(err)
	}
	p.waitForContended(t, "box", metav1.ConditionTrue, ".spec.replicas", "coapply-devbox-power/Apply", "kube-controller-manager/Update[scale]")
	p.waitForReplicas(t, "box", 2)
	p.quiet(t, time.Second)
	if n := p.replicas(t, "box"); n != 2 {
		t.Errorf("%d replicas: the autoscaler's value did not stay", n)
	}
}

// TestMarkLeftBehind has a manager start where another one ended in the middle of a
// fight.
func TestMarkLeftBehind(t *testing.T) {
	t.Parallel()
	c := newClient(t, cluster(t).Config())
	namespace := newNamespace(t, c)
	before := &platform{client: c, namespace: namespace}
	before.create(t, "box")
	contended := metav1.Condition{Type: v1alpha1.ConditionContended, Status: metav1.ConditionTrue, Reason: contention.ReasonFight, Message: "somebody fought"}
	config := v1alpha1ac.Devbox("box", namespace).WithStatus(v1alpha1ac.DevboxStatus().
		WithConditions(apply.Conditions(nil, metav1.Now(), contended)...))
	if err := c.Status().Apply(t.Context(), config, client.FieldOwner("coapply-fights")); err != nil {
		t.Fatal(err)
	}
	p := startFightsIn(t, namespace, shortTimes)
	p.waitForContended(t, "box", metav1.ConditionFalse, "Calm")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	waitFor(t, "every reconciler reports beside it", func() string {
		return unlessApplied(p.get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox))
	})
}
