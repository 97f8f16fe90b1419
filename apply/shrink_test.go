package apply_test

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// ofOurs is the deployment when four of its fields are ours.
func ofOurs(version string) *appsv1.Deployment {
	deployment := web("uid-1", "7")
	ours := entry(manager, "Apply", "", `{"f:metadata":{"f:labels":{"f:a":{},"f:b":{}}},"f:spec":{"f:replicas":{},"f:paused":{}}}`)
	ours.APIVersion = version
	deployment.ManagedFields[0].Manager = "a-first" // in the order of entries
	deployment.ManagedFields = append(deployment.ManagedFields, ours)
	return deployment
}

func TestShrinkGuard(t *testing.T) {
	full := func() *appsv1ac.DeploymentApplyConfiguration {
		return replicasAndPause().WithLabels(map[string]string{"a": "1", "b": "1"})
	}
	lands := []step{{"PATCH", ok(web("uid-1", "8"))}}
	stripped := ofOurs("apps/v1")
	stripped.ManagedFields = nil
	for name, test := range map[string]struct {
		reason string
		config *appsv1ac.DeploymentApplyConfiguration
		cached *appsv1.Deployment
		may    bool
		steps  []step
		says   string // "": it lands
	}{
		"complete":  {"nothing is given up", full(), ofOurs("apps/v1"), false, lands, ""},
		"half":      {"two of four are as much as is allowed", replicasAndPause(), ofOurs("apps/v1"), false, lands, ""},
		"one field": {"three of four are more", threeReplicas(), ofOurs("apps/v1"), false, nil, "would give up 3 of its 4 fields of Deployment shop/web, above the share of 0.5: .metadata.labels.a, .metadata.labels.b, .spec.paused"},
		"nothing": {
			"the message stays short", appsv1ac.Deployment("web", "shop"), ofOurs("apps/v1"), false, nil, "and 1 more",
		},
		"meant":           {"the caller knows", threeReplicas(), ofOurs("apps/v1"), true, lands, ""},
		"new":             {"there is nothing to give up", threeReplicas(), nil, false, lands, ""},
		"nothing is ours": {"nor here", threeReplicas(), web("uid-1", "7"), false, lands, ""},
		"another version": {"names cannot be compared", threeReplicas(), ofOurs("apps/v1beta1"), false, lands, ""},
		"stripped": {
			"the cache has no managed fields: they are read", threeReplicas(), stripped, false,
			[]step{{"GET", ok(ofOurs("apps/v1"))}}, "3 of its 4",
		},
		"unreadable": {
			"what cannot be judged does not pass", threeReplicas(), withBrokenEntry(manager, ofOurs("apps/v1")), false, nil, "managedFields[3]",
		},
		"unreadable, of another manager": {
			"who forges an entry does not keep us from what is ours", threeReplicas(), withBrokenEntry("broken", ofOurs("apps/v1")), false, nil, "3 of its 4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(test.reason)
			s := newScript(t, test.steps)
			applier := s.applierOver(s.restConfig(true), apply.Config{MaxShrink: 0.5}, cache{object: test.cached})
			_, err := applier.Apply(t.Context(), apply.Intent{Config: test.config, MayShrink: test.may})
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("%v, want it to say %q", err, test.says)
			}
			if refused, ok := errors.AsType[*apply.ShrinkError](err); ok {
				if !errors.Is(err, apply.ErrShrink) || apply.ResultOf(err) != "Shrink" || refused.Owned != 4 {
					t.Errorf("%#v", refused)
				}
			}
		})
	}
}

func withBrokenEntry(name string, deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.ManagedFields = append(deployment.ManagedFields, metav1.ManagedFieldsEntry{Manager: name})
	return deployment
}
