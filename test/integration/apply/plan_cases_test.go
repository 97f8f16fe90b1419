package apply

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// planCase plans an intent on an object, then applies it.
type planCase struct {
	reason  string
	exists  []apply.Intent // by "owner", who does not list replicas
	scaled  []apply.Intent // by "scaler"
	before  []apply.Intent // by "us"
	policy  apply.Policy
	intent  apply.Intent
	want    apply.Action
	refused error
	says    []string // parts of the text
}

func planCases(namespace string) map[string]planCase {
	object := func(name string) apply.Intent { return apply.Intent{Config: kit.Deployment(name, namespace, "v1")} }
	count := func(name string, n int32) apply.Intent {
		return apply.Intent{Config: kit.Replicas(name, namespace, n), MustExist: true}
	}
	labelled := func(name string, n int32, labels ...string) apply.Intent {
		config := kit.Replicas(name, namespace, n)
		for _, label := range labels {
			config.WithLabels(map[string]string{label: "x"})
		}
		return apply.Intent{Config: config}
	}
	status := func(name string, replicas int32) apply.Intent {
		return apply.Intent{Subresource: "status", Config: appsv1ac.Deployment(name, namespace).
			WithStatus(appsv1ac.DeploymentStatus().WithObservedGeneration(1).WithReplicas(replicas))}
	}
	scale := func(name string, n int32) apply.Intent {
		return apply.Intent{Config: appsv1ac.Deployment(name, namespace), Subresource: "scale",
			Body: autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(n))}
	}
	return map[string]planCase{
		"new": {reason: "the server's defaults are planned too", intent: object("new"), want: apply.Created,
			says: []string{"would be created by us", `.spec.template.spec.containers[name="web"].image: added "v1"`}},
		"no-op": {reason: "nothing to tell", before: []apply.Intent{object("no-op")}, intent: object("no-op"), want: apply.Unchanged},
		"changed": {reason: "a value", before: []apply.Intent{object("changed"), labelled("changed", 2)}, exists: []apply.Intent{object("changed")},
			intent: labelled("changed", 3), want: apply.Configured, says: []string{".spec.replicas: 2 -> 3"}},
		"gained": {reason: "an owner and a value", exists: []apply.Intent{object("gained")}, intent: labelled("gained", 3, "l"), want: apply.Configured,
			says: []string{".spec.replicas: 1 -> 3", "gained:\n  .metadata.labels.l\n  .spec.replicas\n"}},
		"dropped": {reason: "the value goes or has a default", exists: []apply.Intent{object("dropped")}, before: []apply.Intent{labelled("dropped", 3, "l", "m")},
			intent: apply.Intent{Config: appsv1ac.Deployment("dropped", namespace).WithLabels(map[string]string{"m": "x"})}, want: apply.Configured,
			says: []string{"dropped:\n", `.metadata.labels.l: removed, with its value "x"`, ".spec.replicas: 3 -> 1, owned by nobody"}},
		"dropped-shared": {reason: "it stays with the other owner", exists: []apply.Intent{object("dropped-shared")},
			scaled: []apply.Intent{labelled("dropped-shared", 3)}, before: []apply.Intent{labelled("dropped-shared", 3, "l")},
			intent: apply.Intent{Config: appsv1ac.Deployment("dropped-shared", namespace).WithLabels(map[string]string{"l": "x"})}, want: apply.Configured,
			says: []string{".spec.replicas: stays, owned by scaler/Apply"}},
		"forced": {reason: "taken", exists: []apply.Intent{object("forced")}, scaled: []apply.Intent{labelled("forced", 5)},
			policy: apply.OnConflict(apply.Force), intent: count("forced", 3), want: apply.Configured,
			says: []string{"Force .spec.replicas to 3: owned by scaler/Apply with value 5", "taken:\n  .spec.replicas: scaler/Apply -> us/Apply"}},
		"relinquished": {reason: "the rest lands", exists: []apply.Intent{object("relinquished")}, scaled: []apply.Intent{labelled("relinquished", 5)},
			policy: apply.OnConflict(apply.Relinquish), intent: labelled("relinquished", 3, "l"), want: apply.Configured,
			says: []string{"Relinquish .spec.replicas to 3", "gained:\n  .metadata.labels.l\n"}},
		"shared": {reason: "the value is theirs", exists: []apply.Intent{object("shared")}, scaled: []apply.Intent{labelled("shared", 5)},
			policy: apply.OnConflict(apply.Share), intent: count("shared", 3), want: apply.Configured,
			says: []string{"Share .spec.replicas to 3", "shared:\n  .spec.replicas of scaler/Apply"}},
		"mixed": {reason: "several decisions", exists: []apply.Intent{object("mixed")}, scaled: []apply.Intent{labelled("mixed", 5, "l")},
			policy: apply.OnConflict(apply.Force).At(".spec.replicas", apply.Relinquish),
			intent: apply.Intent{Config: kit.Replicas("mixed", namespace, 3).WithLabels(map[string]string{"l": "y"})}, want: apply.Configured,
			says: []string{"Force .metadata.labels.l", "Relinquish .spec.replicas", `.metadata.labels.l: "x" -> "y"`}},
		"rejected": {reason: "no error: it is what would happen", exists: []apply.Intent{object("rejected")}, scaled: []apply.Intent{labelled("rejected", 5)},
			intent: count("rejected", 3), refused: apply.ErrConflict,
			says: []string{"would be refused", "Reject .spec.replicas to 3: owned by scaler/Apply with value 5"}},
		"status": {reason: "a subresource", exists: []apply.Intent{object("status")}, before: []apply.Intent{status("status", 1)}, intent: status("status", 2),
			want: apply.Configured, says: []string{"(status): would be configured", ".status.replicas: 1 -> 2"}},
		"scale": {reason: "a kind of its own", exists: []apply.Intent{object("scale")}, scaled: []apply.Intent{labelled("scale", 5)},
			policy: apply.OnConflict(apply.Force), intent: scale("scale", 2), want: apply.Configured, says: []string{".spec.replicas: 5 -> 2"}},
		"absent":        {reason: "to be waited for", intent: count("absent", 3), want: apply.Absent, says: []string{"does not exist, so us cannot"}},
		"absent-status": {reason: "nothing to create there", intent: status("absent-status", 2), want: apply.Absent},
	}
}
