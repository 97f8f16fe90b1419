package platform

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// startFights runs the reconcilers of namespaced kinds, which force the replicas, with a Breaker. The clock of
// the Breaker moves only when sleep is called, so that the speed of the machine does not matter.
func startFights(t *testing.T, config breaker.Config) (p *kit.Platform, sleep func(time.Duration)) {
	t.Helper()
	var slept atomic.Int64
	start := time.Now()
	config.Now = func() time.Time { return start.Add(time.Duration(slept.Load())) }
	restConfig := kit.Cluster(t).Config()
	c := kit.NewClient(t, restConfig)
	p = &kit.Platform{Client: c, Namespace: kit.NewNamespace(t, c)}
	var err error
	if p.Breaker, err = breaker.New(config); err != nil {
		t.Fatal(err)
	}
	p.Run(t, restConfig, apply.Force)
	return p, func(d time.Duration) { slept.Add(int64(d)) }
}

// contended returns the condition Contended of a Devbox, nil if there is none.
func contended(t *testing.T, p *kit.Platform, name string) *metav1.Condition {
	t.Helper()
	box := p.Get(t, name, &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	return meta.FindStatusCondition(box.Status.Conditions, breaker.ConditionContended)
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

// TestFight has somebody scale a Devbox that is Running by force. The reconciler forces the
// replicas three times, and once after each cool-down.
func TestFight(t *testing.T) {
	t.Parallel()
	p, sleep := startFights(t, breaker.Config{CoolDown: time.Minute})
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	if c := contended(t, p, "box"); c != nil {
		t.Fatalf("before anybody took the replicas: %v", c)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan struct{})
	go func() { scaleBot(ctx, p, "box", 3); close(stopped) }()

	who := []string{".spec.replicas of Deployment", "coapply-devbox-power", "kubectl-scale-bot/Update[scale]"}
	waitForContended(t, p, "box", metav1.ConditionTrue, append(who, "OwnershipFight: ", "will not force the field before")...)
	waitForEvent(t, p, "Deployment", "box", breaker.ReasonFight, append(who, "3 times within a minute")...)
	waitForReplicas(t, p, "box", 3)

	t.Log("the other goes on: one force after the cool-down")
	sleep(90 * time.Second) // a minute, and up to a fifth more
	kit.WaitFor(t, "one more force", func() string {
		wake(t, p, "box")
		if n := forced(p); n < 4 {
			return fmt.Sprint(n, " forces")
		}
		return ""
	})
	waitForEvent(t, p, "Deployment", "box", breaker.ReasonFight, "taken back again after a pause")
	waitForReplicas(t, p, "box", 3)

	t.Log("the other stops")
	stop()
	<-stopped
	sleep(150 * time.Second) // twice as long
	kit.WaitFor(t, "the reconciler sets the replicas", func() string {
		wake(t, p, "box")
		if n := replicas(t, p, "box"); n != 1 {
			return fmt.Sprint(n, " replicas")
		}
		return ""
	})
	waitForContended(t, p, "box", metav1.ConditionFalse, "NotContended")
}

// TestFightWithAutoscaler has the real kube-controller-manager raise the replicas to an
// autoscaler's minimum, for which it needs no metrics, every 15 seconds.
func TestFightWithAutoscaler(t *testing.T) {
	t.Parallel()
	p, _ := startFights(t, breaker.Config{PerMinute: 1})
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
	waitForContended(t, p, "box", metav1.ConditionTrue, ".spec.replicas", "coapply-devbox-power", "kube-controller-manager/Update[scale]")
	waitForReplicas(t, p, "box", 2)
}

// TestContendedAfterRestart has a manager start where another one ended in the middle of a fight.
func TestContendedAfterRestart(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	p := &kit.Platform{Client: c, Namespace: kit.NewNamespace(t, c)}
	p.Create(t, "box")
	box := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	meta.SetStatusCondition(&box.Status.Conditions, metav1.Condition{
		Type: breaker.ConditionContended, Status: metav1.ConditionTrue, Reason: breaker.ReasonFight, Message: "of an earlier process"})
	if err := c.Status().Update(t.Context(), box, client.FieldOwner("coapply-devbox-power")); err != nil {
		t.Fatal(err)
	}
	p.Run(t, kit.Cluster(t).Config(), apply.Force)
	waitForContended(t, p, "box", metav1.ConditionFalse, "NotContended")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
}
