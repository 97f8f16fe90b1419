package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
)

// TestNodeSetQuota: pods that a quota refuses are asked for now and then, one at a time,
// also while the others become ready; the NodeSet says so, and heals when the quota
// grows.
func TestNodeSetQuota(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": quantity("40")}},
	}
	if err := p.client.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	history := p.history(t)
	p.createNodeSet(t, "x", 80)
	waitFor(t, "the NodeSet says why it has 40", func() string {
		set := p.get(t, "x", &v1alpha1.NodeSet{}).(*v1alpha1.NodeSet)
		c := meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionApplied)
		if set.Status.ReadyReplicas != 40 || c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "exceeded quota: pods") {
			return fmt.Sprintf("%+v", set.Status)
		}
		return ""
	})
	p.waitForEvent(t, "NodeSet", "x", "Refused", "exceeded quota: pods")
	time.Sleep(2 * time.Second)
	asked := 0
	for _, request := range p.writes.take() {
		if strings.HasPrefix(request, "PATCH ") && strings.Contains(request, "/pods/x-") {
			asked++
		}
	}
	t.Logf("%d creations were asked for, 40 were granted", asked)
	if asked > 40+60 { // 279 were refused when each round asked for as many as it does at a time
		t.Errorf("%d creations were refused", asked-40)
	}
	p.patch(t, quota, "pods", `{"spec":{"hard":{"pods":"80"}}}`)
	p.waitForNodes(t, "x")
	p.waitForCondition(t, "x", v1alpha1.ConditionApplied, "Applied")
	history.want(t, "x", "0-79:1")
	p.quiet(t, time.Second)
}

// TestNodeSetMadeAnew under the same name: pods that its predecessor left to nobody are
// taken over, and those that go with it are waited for.
func TestNodeSetMadeAnew(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	history := p.history(t)
	p.createNodeSet(t, "x", 5)
	p.waitForNodes(t, "x")
	p.quiet(t, time.Second)
	var controller types.UID
	for _, way := range []struct{ cascade, counts string }{{"orphan", "0-4:1"}, {"background", "0-4:2"}} {
		kubectl(t, "delete", "nodeset/x", "--namespace", p.namespace, "--cascade="+way.cascade)
		set := p.createNodeSet(t, "x", 5)
		if set.UID == controller {
			t.Fatal("it is the same NodeSet")
		}
		controller = set.UID
		waitFor(t, "its pods", func() string {
			p.waitForNodes(t, "x")
			for _, pod := range p.nodes(t, "x") {
				if owner := metav1.GetControllerOf(&pod); pod.DeletionTimestamp != nil || owner == nil || owner.UID != set.UID {
					return fmt.Sprintf("%s is controlled by %v", pod.Name, owner)
				}
			}
			return ""
		})
		history.want(t, "x", way.counts)
	}
	p.quiet(t, time.Second)
}
