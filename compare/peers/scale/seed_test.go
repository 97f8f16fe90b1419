package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/workloads/deployment"
)

// seed makes the objects and writes to them as somebody else does.
type seed struct {
	client    client.Client
	namespace string
	objects   int
	progress  io.Writer
}

func nameOf(i int) string { return fmt.Sprintf("d%05d", i) }

// seeders is how many applies are under way at a time.
const seeders = 16

// create has each of the managers apply its part of each object.
func (s *seed) create(ctx context.Context) (time.Duration, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "peers-scale-"}}
	if err := s.client.Create(ctx, namespace); err != nil {
		return 0, err
	}
	s.namespace = namespace.Name
	start := time.Now()
	var made atomic.Int64
	group, making := errgroup.WithContext(ctx)
	group.SetLimit(seeders)
	for i := range s.objects {
		group.Go(func() error {
			err := deployment.Prepare(making, s.client, s.namespace, nameOf(i), deployment.Managers)
			if n := made.Add(1); n%1000 == 0 {
				fmt.Fprintf(s.progress, "scale: %d of %d Deployments made, %v\n", n, s.objects, time.Since(start).Round(time.Second))
			}
			return err
		})
		if making.Err() != nil {
			break
		}
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	took := time.Since(start)
	fmt.Fprintln(s.progress, "scale: waiting until the Deployments' own controller has seen them all")
	if err := wait.PollUntilContextTimeout(ctx, time.Second, 15*time.Minute, true, s.observed); err != nil {
		return took, fmt.Errorf("waiting until their own controller has seen them all: %w", err)
	}
	return took, nil
}

// observed reports whether the Deployments' own controller is done with them: its writes would be measured, too.
func (s *seed) observed(ctx context.Context) (bool, error) {
	page := &appsv1.DeploymentList{}
	for more := true; more; more = page.Continue != "" {
		if err := s.client.List(ctx, page, client.InNamespace(s.namespace), client.Limit(500), client.Continue(page.Continue)); err != nil {
			return false, err
		}
		for i := range page.Items {
			if page.Items[i].Status.ObservedGeneration < page.Items[i].Generation {
				return false, nil
			}
		}
	}
	return true, nil
}

// write writes conditions into statuses for others, each of another object than the last, as a controller of the cluster
// would, until the window ends. It returns how many.
func (s *seed) write(ctx context.Context, who writing, window time.Duration) (written int, err error) {
	var turn <-chan time.Time // never, where nobody writes
	if who == others {
		tick := time.NewTicker(time.Second / OthersPerSecond)
		defer tick.Stop()
		turn = tick.C
	}
	end := time.After(window)
	for {
		select {
		case <-ctx.Done():
			return written, ctx.Err()
		case <-end:
			return written, nil
		case <-turn:
		}
		object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: nameOf(written % s.objects)}}
		// The Deployments' own controller leaves a condition alone that it does not know.
		patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Seen","status":"True","message":"%d"}]}}`, time.Now().UnixNano())
		err := s.client.Status().Patch(ctx, object, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner("others"))
		if err != nil {
			return written, fmt.Errorf("writing a status as somebody else: %w", err)
		}
		written++
	}
}

// remove leaves nothing behind, whatever the end was.
func (s *seed) remove(ctx context.Context, err error) error {
	if s.namespace == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	for {
		removed := s.client.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(s.namespace))
		if !apierrors.IsTimeout(removed) { // so many take longer than one request may
			err = errors.Join(err, removed)
			break
		}
	}
	return errors.Join(err, s.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
}
