package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply/update"
	"coapply.dev/internal/localcluster"
)

// demonstration is the demo under way.
type demonstration struct {
	platform *platform
	show     *show
	updater  *update.Updater // of the person who changes Devboxes
	measured measurements
}

// demo is platform demo. Each step checks what it shows.
func demo(ctx context.Context, stdout, stderr io.Writer) (err error) {
	d := &demonstration{show: newShow(stdout)}
	if _, _, err := prerequisites(); err != nil {
		return err
	}
	if _, err := localcluster.Ensure(ctx, stderr); err != nil {
		return err
	}
	start := time.Now()
	defer func() {
		if d.platform != nil {
			err = errors.Join(err, d.platform.stop(ctx))
		}
		if err == nil {
			fmt.Fprintf(stdout, "\nDone in %.1f s; nothing is left running.\n", time.Since(start).Seconds())
		}
	}()
	for _, step := range []func(context.Context, io.Writer) error{
		d.start,
		d.createDevboxes,
		d.showOwners,
		d.scaleUnderReject,
		d.scaleUnderForce,
		d.secondApplier,
		d.stopAndRun,
		d.shutdown,
		d.deletion,
		d.summary,
	} {
		if err := step(ctx, stderr); err != nil {
			return fmt.Errorf("step %d is not as it says: %w", d.show.steps, err)
		}
	}
	return nil
}

func (d *demonstration) start(ctx context.Context, stderr io.Writer) error {
	d.show.step("A real control plane with three simulated nodes",
		"etcd, kube-apiserver, kube-controller-manager and kube-scheduler, on loopback",
		"only. The CRDs and RBAC of config/ are installed; the manager runs with the",
		"rights of its service account. A person's wishes win for now: the reconciler",
		"that owns the replicas is told to Reject conflicts, not to Force them.")
	start := time.Now()
	var err error
	d.platform, err = startPlatform(ctx, localcluster.Options{Name: "demo", Nodes: demoNodes, Log: stderr})
	if err != nil {
		return err
	}
	d.updater, err = update.New(update.Config{Client: d.platform.client, LiveReader: d.platform.client, FieldManager: "person"})
	if err != nil {
		return err
	}
	if err := d.platform.startManager(ctx, "Reject"); err != nil {
		return err
	}
	d.measured.add("control plane, CRDs, RBAC and manager ready", time.Since(start))
	if err := d.kubectl(ctx, "get", "nodes"); err != nil {
		return err
	}
	d.show.ok("the manager is ready: its caches are filled")
	return nil
}

var boxes = []string{"alpha", "beta", "gamma"}

func (d *demonstration) createDevboxes(ctx context.Context, _ io.Writer) error {
	d.show.step("Three Devboxes, each made by three reconcilers",
		"workload writes the Deployment, power its replicas, network the Service; all",
		"three write parts of one status.")
	start := time.Now()
	for _, name := range boxes {
		box := &v1alpha1.Devbox{Spec: v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1"}}
		box.Name, box.Namespace = name, "default"
		if name == "beta" {
			box.Spec.Network.Type = v1alpha1.NetworkNodePort
		}
		if err := d.platform.client.Create(ctx, box, client.FieldOwner("person")); err != nil {
			return err
		}
	}
	for _, name := range boxes {
		if _, err := d.waitFor(ctx, name, "its pod runs and every reconciler is content", settled); err != nil {
			return err
		}
	}
	d.measured.add("three Devboxes created until their pods run", time.Since(start))
	for _, kind := range []string{"devboxes", "deployments", "pods"} {
		if err := d.kubectl(ctx, "get", kind); err != nil {
			return err
		}
	}
	d.show.ok("every Devbox is Running, each of its conditions is True")
	return nil
}

// settled tells what is missing for a running Devbox.
func settled(box *v1alpha1.Devbox) string {
	if box.Status.Phase != v1alpha1.PhaseRunning {
		return "phase " + string(box.Status.Phase)
	}
	for _, wanted := range []string{v1alpha1.ConditionWorkloadApplied, v1alpha1.ConditionPowerApplied, v1alpha1.ConditionNetworkApplied} {
		if missing := conditionIs(wanted, "True", "Applied")(box); missing != "" {
			return missing
		}
	}
	return ""
}

func conditionIs(conditionType, status, reason string) func(*v1alpha1.Devbox) string {
	return func(box *v1alpha1.Devbox) string {
		for _, c := range box.Status.Conditions {
			if c.Type != conditionType {
				continue
			}
			if string(c.Status) == status && c.Reason == reason {
				return ""
			}
			return fmt.Sprintf("%s is %s (%s: %s)", c.Type, c.Status, c.Reason, c.Message)
		}
		return "no condition " + conditionType
	}
}

func phaseIs(phase v1alpha1.DevboxPhase) func(*v1alpha1.Devbox) string {
	return func(box *v1alpha1.Devbox) string {
		if box.Status.Phase == phase {
			return ""
		}
		return fmt.Sprintf("phase %q", box.Status.Phase)
	}
}

// waitFor waits until missing gives "" for a Devbox.
func (d *demonstration) waitFor(ctx context.Context, name, what string, missing func(*v1alpha1.Devbox) string) (*v1alpha1.Devbox, error) {
	var box v1alpha1.Devbox
	err := until(ctx, what, func(ctx context.Context) (string, error) {
		if err := d.platform.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &box); err != nil {
			return "", err
		}
		return missing(&box), nil
	})
	if err != nil {
		return nil, fmt.Errorf("Devbox %s: %w", name, err)
	}
	return &box, nil
}

// setState is what a person does with kubectl edit.
func (d *demonstration) setState(ctx context.Context, name string, state v1alpha1.DevboxState) error {
	box := &v1alpha1.Devbox{}
	box.Name, box.Namespace = name, "default"
	_, err := update.Do(ctx, d.updater, box, func(box *v1alpha1.Devbox) error {
		box.Spec.State = state
		return nil
	})
	return err
}

// condition gives the message of a condition, for show.
func condition(box *v1alpha1.Devbox, conditionType string) string {
	for _, c := range box.Status.Conditions {
		if c.Type == conditionType {
			return fmt.Sprintf("%s: %s, %s\n%s", c.Type, c.Status, c.Reason, wrapped(c.Message, 72))
		}
	}
	return ""
}

// wrapped breaks text between words so that a line fits.
func wrapped(text string, width int) string {
	var b strings.Builder
	line := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == 0:
		case line+1+len(word) > width:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}
