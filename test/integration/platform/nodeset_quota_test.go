package platform

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestNodeSetQuota: pods that a quota refuses are asked for now and then, one at a time,
// also while the others become ready; the NodeSet says so, and heals when the quota
// grows.
func TestNodeSetQuota(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": kit.Quantity("40")}},
	}
	if err := p.Client.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	history := history(t, p)
	createNodeSet(t, p, "x", 80)
	kit.WaitFor(t, "the NodeSet says why it has 40", func() string {
		set := p.Get(t, "x", &v1alpha1.NodeSet{}).(*v1alpha1.NodeSet)
		c := meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionApplied)
		if set.Status.ReadyReplicas != 40 || c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "exceeded quota: pods") {
			return fmt.Sprintf("%+v", set.Status)
		}
		return ""
	})
	waitForEvent(t, p, "NodeSet", "x", "Refused", "exceeded quota: pods")
	kit.Absence(t, 2*time.Second, "pods that are asked for again")
	asked := 0
	for _, request := range p.Writes.Take() {
		if strings.HasPrefix(request, "PATCH ") && strings.Contains(request, "/pods/x-") {
			asked++
		}
	}
	t.Logf("%d creations were asked for, 40 were granted", asked)
	if asked > 40+60 { // 279 were refused when each round asked for as many as it does at a time
		t.Errorf("%d creations were refused", asked-40)
	}
	p.Patch(t, quota, "pods", `{"spec":{"hard":{"pods":"80"}}}`)
	waitForNodes(t, p, "x")
	waitForCondition(t, p, "x", v1alpha1.ConditionApplied, "Applied")
	history.want(t, "x", "0-79:1")
	p.Quiet(t, time.Second)
}

// TestNodeSetMadeAnew under the same name: pods that its predecessor left to nobody are
// taken over, and those that go with it are waited for.
func TestNodeSetMadeAnew(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	createNodeSet(t, p, "x", 5)
	waitForNodes(t, p, "x")
	p.Quiet(t, time.Second)
	var controller types.UID
	for _, way := range []struct{ cascade, counts string }{{"orphan", "0-4:1"}, {"background", "0-4:2"}} {
		kubectl(t, "delete", "nodeset/x", "--namespace", p.Namespace, "--cascade="+way.cascade)
		set := createNodeSet(t, p, "x", 5)
		if set.UID == controller {
			t.Fatal("it is the same NodeSet")
		}
		controller = set.UID
		kit.WaitFor(t, "its pods", func() string {
			waitForNodes(t, p, "x")
			for _, pod := range nodes(t, p, "x") {
				if owner := metav1.GetControllerOf(&pod); pod.DeletionTimestamp != nil || owner == nil || owner.UID != set.UID {
					return fmt.Sprintf("%s is controlled by %v", pod.Name, owner)
				}
			}
			return ""
		})
		history.want(t, "x", way.counts)
	}
	p.Quiet(t, time.Second)
}
