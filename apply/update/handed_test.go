package update_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
)

// TestAnswerIsTheNextRead: calls that wait for each other, and what others do between the
// first and the second one.
func TestAnswerIsTheNextRead(t *testing.T) {
	labelled := func(i int) func(*corev1.Pod) error {
		return func(p *corev1.Pod) error {
			metav1.SetMetaDataLabel(&p.ObjectMeta, fmt.Sprint("by-", i), "yes")
			return nil
		}
	}
	for reason, test := range map[string]struct {
		between   func(*testing.T, *server)
		mutate    func(int) func(*corev1.Pod) error
		nameOnly  bool
		sent      string
		fails     error // all calls but the first
		notFound  bool  // they do, as there is no object
		leaving   bool  // the object, which is being deleted, and goes with its last finalizer
		stale     int   // writes
		unchanged int   // calls
	}{
		"one request a write": {
			mutate: labelled, sent: "GET PUT PUT PUT PUT",
		},
		"another process writes: read again, and hand nothing on": {
			between: func(t *testing.T, s *server) {
				s.foreignWrite(t, pod(), func(o client.Object) { o.SetAnnotations(map[string]string{"theirs": "1"}) })
			},
			mutate: labelled, sent: "GET PUT PUT GET PUT GET PUT PUT", stale: 1,
		},
		"nothing is left to write: a live read says so": {
			mutate: func(int) func(*corev1.Pod) error { return label }, sent: "GET PUT GET GET GET", unchanged: 3,
		},
		"deleted": {
			between: func(t *testing.T, s *server) {
				if err := s.store.Delete(t.Context(), pod()); err != nil {
					t.Error(err)
				}
			},
			mutate: labelled, sent: "GET PUT PUT GET GET GET", notFound: true,
		},
		"gone with its last finalizer: nothing is written upon that": {
			leaving: true,
			mutate: func(i int) func(*corev1.Pod) error {
				return func(p *corev1.Pod) error { p.Finalizers = nil; return labelled(i)(p) }
			},
			sent: "GET PUT GET GET GET", notFound: true,
		},
		"recreated": {
			between: func(t *testing.T, s *server) { s.recreate(t, pod(), "uid-2") },
			mutate:  labelled, sent: "GET PUT PUT GET GET GET", fails: apply.ErrUIDMismatch, stale: 1,
		},
		"recreated, and a name is all that was given": {
			between: func(t *testing.T, s *server) { s.recreate(t, pod(), "uid-2") },
			mutate:  labelled, nameOnly: true, sent: "GET PUT PUT GET PUT GET PUT PUT", stale: 1,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(pod())
				if test.leaving {
					s = newServer(deleting(pod(mine)))
				}
				u, enter := s.taking(t, immediate(1))
				object, leave := cached(t, s, pod()), enter()
				if test.nameOnly {
					object = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name}}
				}
				if test.between != nil {
					s.puts = []answer{func(pass func() error) error {
						err := pass()
						test.between(t, s)
						return err
					}}
				}
				results, failures := make([]update.Result[*corev1.Pod], 4), make([]error, 4)
				for i := range results {
					go func() { results[i], failures[i] = update.Do(t.Context(), u, object, test.mutate(i)) }()
					synctest.Wait()
				}
				leave()
				synctest.Wait()
				if s.sent() != test.sent {
					t.Errorf("sent %q, want %q", s.sent(), test.sent)
				}
				stale, unchanged := 0, 0
				for i, result := range results {
					stale += result.StaleWrites
					if failures[i] == nil && !result.Changed {
						unchanged++
					}
					asWanted := errors.Is(failures[i], test.fails) || test.notFound && apierrors.IsNotFound(failures[i])
					if i > 0 && !asWanted {
						t.Errorf("call %d: %v", i, failures[i])
					}
					if result.Attempts != 1 {
						t.Errorf("call %d: %d attempts, want 1 turn each", i, result.Attempts)
					}
				}
				if stale != test.stale || unchanged != test.unchanged {
					t.Errorf("%d stale writes, %d calls changed nothing; want %d, %d", stale, unchanged, test.stale, test.unchanged)
				}
			})
		})
	}
}

// TestNothingIsHandedOnOfWhatFailed, nor to whoever comes when nobody waited.
func TestNothingIsHandedOnOfWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod())
		u, enter := s.taking(t, immediate(1))
		leave := enter()
		s.puts = []answer{lost, stored, with(apierrors.NewForbidden(corev1.Resource("pods"), "pod", nil))}
		var failures [4]error
		for i := range failures {
			go func() {
				_, failures[i] = update.Do(context.Background(), u, pod(), func(p *corev1.Pod) error {
					p.Labels = map[string]string{"by": fmt.Sprint(i)}
					return nil
				})
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		if want := "GET PUT GET PUT PUT GET PUT"; s.sent() != want {
			t.Errorf("sent %q, want %q: of a write whose answer was lost or that was refused nobody knows the object", s.sent(), want)
		}
		if !errors.Is(failures[0], apply.ErrRetryable) || failures[1] != nil || !errors.Is(failures[2], apply.ErrRefused) || failures[3] != nil {
			t.Errorf("errors %v, want those of the first and the third write", failures)
		}
		s.requests = nil
		if _, err := update.Do(t.Context(), u, cached(t, s, pod()), label); err != nil || s.sent() != "GET PUT" {
			t.Errorf("sent %q, %v: something was kept of an object that nobody wrote to", s.sent(), err)
		}
	})
}

// TestHandedIsOfTheObject: what another program of the process hands on may be another version, or another object.
func TestHandedIsOfTheObject(t *testing.T) {
	for _, test := range []struct{ reason, version, uid, sent string }{
		{"the object", "v1", "uid-1", "PUT"}, {"in another version", "v2", "uid-1", "GET PUT"}, {"another of its name", "v1", "uid-2", "GET PUT"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, set := newServer(pod()), lanes.New()
			u, err := update.New(update.Config{Client: s.client, LiveReader: s.client, FieldManager: "test", Lanes: set})
			if err != nil {
				t.Fatal(err)
			}
			shown := &unstructured.Unstructured{}
			shown.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			if err := s.store.Get(t.Context(), client.ObjectKeyFromObject(pod()), shown); err != nil {
				t.Fatal(err)
			}
			shown.SetAPIVersion(test.version)
			shown.SetUID(types.UID(test.uid))
			key := lanes.Key{GroupKind: schema.GroupKind{Kind: "Pod"}, NamespacedName: client.ObjectKeyFromObject(pod())}
			inside, leave, err := set.Enter(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() {
				_, err := update.Do(t.Context(), u, cached(t, s, pod()), label)
				done <- err
			}()
			synctest.Wait()
			lanes.HandOn(inside, shown)
			leave()
			if err := <-done; err != nil || s.sent() != test.sent {
				t.Errorf("%s: sent %q, %v, want %q", test.reason, s.sent(), err, test.sent)
			}
		})
	}
}
