package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"coapply.dev/platform/api/v1alpha1"
)

// readConfig reads one object of config/, refusing unknown fields.
func readConfig(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "config", path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, into); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

func TestDeploymentFitsTheCommand(t *testing.T) {
	var deployment appsv1.Deployment
	readConfig(t, "manager/deployment.yaml", &deployment)
	pod := deployment.Spec.Template.Spec
	cmd := newCommand(nil)
	if err := cmd.ParseFlags(pod.Containers[0].Args); err != nil {
		t.Fatalf("the command does not take the Deployment's arguments: %v", err)
	}
	graceful, err := cmd.Flags().GetDuration("graceful-shutdown-timeout")
	if err != nil {
		t.Fatal(err)
	}
	grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
	if needed := graceful + stopMargin; grace <= needed {
		t.Errorf("the pod is killed after %v, stopping may take %v", grace, needed)
	}
}

func TestRoleNamesTheLease(t *testing.T) {
	var role rbacv1.Role
	readConfig(t, "rbac/leader_election_role.yaml", &role)
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.ResourceNames, leaderElectionID)
	}) {
		t.Errorf("the Role does not name the Lease %s", leaderElectionID)
	}
}

func TestOneSampleForEachState(t *testing.T) {
	for file, state := range map[string]v1alpha1.DevboxState{
		"running": v1alpha1.DevboxRunning, "stopped": v1alpha1.DevboxStopped, "shutdown": v1alpha1.DevboxShutdown,
	} {
		var box v1alpha1.Devbox
		readConfig(t, "samples/devbox_"+file+".yaml", &box)
		if box.Spec.State != state {
			t.Errorf("sample %s has the state %s", file, box.Spec.State)
		}
	}
}

func TestControllersOfFlagsExist(t *testing.T) {
	if !slices.Contains(controllerNames(), powerController) {
		t.Errorf("no reconciler is called %s", powerController)
	}
}
