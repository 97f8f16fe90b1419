package platform

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/license"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// TestUserReconcilersRace has three reconcilers create the same Users' Namespaces at
// the same moment, and one Namespace come in between, as of another process of ours. Nobody fails,
// each object is created once, and createTime has one value ever.
// The reconcilers have the manager's rights and no more; so has the License's, at the
// end.
func TestUserReconcilersRace(t *testing.T) {
	t.Parallel()
	restConfig := kit.Cluster(t).Config()
	p := person{&kit.Platform{Client: kit.NewClient(t, restConfig)}, t, ""}
	const reconcilers = 3
	between := kit.Unique("racer-between")
	names := []string{kit.Unique("racer-a"), kit.Unique("racer-b"), kit.Unique("racer-c"), between}
	s := &starters{wanted: reconcilers, lines: map[string]*line{}, between: func(path string) {
		if path == namespacePath(between) {
			p.createNamespaceInBetween(between)
		}
	}}
	for _, name := range names {
		s.lines[namespacePath(name)] = &line{off: make(chan struct{})}
	}
	limited := kit.AsManager(t, p.Client, restConfig)
	limited.Wrap(s.wrap)
	p.Only = []func(ctrl.Manager, setup.Options) error{user.Setup}
	for range reconcilers {
		p.Run(t, limited, apply.Reject)
		p.watchesUsers() // or the others would wait at the line for its start, and their reconciles time out
	}
	times := p.followCreateTimes(restConfig)
	for _, p.name = range names {
		p.createUser()
		p.userIsComplete()
	}
	created := map[string]int{}
	for _, a := range p.Applies.Take() {
		switch a.Result {
		case string(apply.Created):
			created[a.Kind.Kind]++
		case string(apply.Configured), string(apply.Unchanged):
		default:
			t.Errorf("an apply ended as %s: %+v", a.Result, a)
		}
	}
	want := map[string]int{"Namespace": len(names) - 1, "ServiceAccount": len(names), "RoleBinding": len(names)}
	if fmt.Sprint(created) != fmt.Sprint(want) {
		t.Errorf("created %v, want %v", created, want)
	}
	for path, l := range s.lines {
		if l.ready != reconcilers {
			t.Errorf("%d reconcilers raced for %s", l.ready, path)
		}
	}
	for name, seen := range times() {
		if len(seen) != 1 {
			t.Errorf("createTime of %s was, at one time or another, %v", name, seen)
		}
	}

	p.name = names[0]
	p.Only = []func(ctrl.Manager, setup.Options) error{license.Setup}
	p.Run(t, kit.AsManager(t, p.Client, restConfig), apply.Reject)
	p.createLicense(nil)
	l := p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	if err := p.Client.Delete(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	p.gone(p.name, l)
}

// starters holds back the first write of each reconciler to a Namespace until all of
// them are about to write.
type starters struct {
	wanted  int
	between func(path string) // what happens then, before any of them writes

	lines map[string]*line // by path; the map does not change
}

type line struct {
	mu    sync.Mutex
	ready int
	off   chan struct{}
}

func (s *starters) wrap(next http.RoundTripper) http.RoundTripper {
	var once sync.Map // the paths that this reconciler has written to
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
		path := request.URL.Path
		if l := s.lines[path]; l != nil && request.Method == http.MethodPatch {
			if _, before := once.LoadOrStore(path, true); !before {
				s.start(request.Context(), path, l)
			}
		}
		return next.RoundTrip(request)
	})
}

func (s *starters) start(ctx context.Context, path string, l *line) {
	l.mu.Lock()
	if l.ready++; l.ready == s.wanted {
		s.between(path)
		close(l.off)
	}
	l.mu.Unlock()
	select {
	case <-l.off:
	case <-ctx.Done():
	}
}

func namespacePath(userName string) string { return "/api/v1/namespaces/" + user.NamespaceOf(userName) }

// watchesUsers waits until the manager that was started last has a cache of Users.
func (p person) watchesUsers() {
	p.t.Helper()
	kit.WaitFor(p.t, "the manager sees Users", func() string { return errorOf(p.Cached.List(p.t.Context(), &v1alpha1.UserList{})) })
}

func (p person) createNamespaceInBetween(name string) {
	err := p.Client.Apply(p.t.Context(), corev1ac.Namespace(user.NamespaceOf(name)).WithLabels(map[string]string{user.OwnerLabel: name}),
		client.FieldOwner(fieldmanagers.User))
	if err != nil {
		p.t.Error(err)
	}
}

// followCreateTimes gives what createTime was at any time, by User.
func (p person) followCreateTimes(restConfig *rest.Config) (seen func() map[string]map[string]bool) {
	p.t.Helper()
	watching, err := client.NewWithWatch(restConfig, client.Options{Scheme: kit.Scheme})
	if err != nil {
		p.t.Fatal(err)
	}
	w, err := watching.Watch(p.t.Context(), &v1alpha1.UserList{})
	if err != nil {
		p.t.Fatal(err)
	}
	times := map[string]map[string]bool{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			ada, ok := event.Object.(*v1alpha1.User)
			if !ok || event.Type == watch.Deleted || ada.Status.AuditLog.CreateTime == nil {
				continue
			}
			if times[ada.Name] == nil {
				times[ada.Name] = map[string]bool{}
			}
			times[ada.Name][ada.Status.AuditLog.CreateTime.String()] = true
		}
	}()
	return func() map[string]map[string]bool {
		w.Stop()
		<-done
		return times
	}
}
