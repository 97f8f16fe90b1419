// Command argocd compares a manifest with what is live, and syncs it, as Argo CD does for an Application with the sync option
// ServerSideApply=true: with its gitops-engine, and the options that Argo CD sets (controller/state.go and sync.go, 3.6.1).
// It prints what it found, "Synced" or "OutOfSync", and with --sync what it did to each object.
//
//	argocd --kubeconfig FILE --namespace NAMESPACE [--sync] <MANIFEST
//
// Argo CD's engine needs other versions of Kubernetes' modules than the tests, so this is a module of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/engine"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const manager = "argocd-controller"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the cluster")
	namespace := flag.String("namespace", "", "of the objects")
	syncs := flag.Bool("sync", false, "sync, and not only compare")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, *kubeconfig, *namespace, *syncs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace string, syncs bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	manifest, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	objects, err := kube.SplitYAML(manifest)
	if err != nil {
		return err
	}
	for _, object := range objects {
		object.SetNamespace(namespace)
	}
	live := cache.NewClusterCache(config, cache.SetNamespaces([]string{namespace}), cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(*unstructured.Unstructured, bool) (any, bool) { return nil, true }))
	e := engine.NewEngine(config, live, engine.WithLogr(logr.Discard()))
	stop, err := e.Run()
	if err != nil {
		return err
	}
	defer stop()
	if err := compare(config, live, namespace, objects); err != nil || !syncs {
		return err
	}
	results, err := e.Sync(ctx, objects, unmanaged, "main", namespace,
		sync.WithServerSideApply(true), sync.WithServerSideApplyManager(manager),
		sync.WithClientSideApplyMigration(true, common.DefaultClientSideApplyMigrationManager),
		sync.WithManifestValidation(true), sync.WithLogr(logr.Discard()))
	for _, result := range results {
		fmt.Println(result.ResourceKey.Kind, result.ResourceKey.Name, result.Status, result.Message)
		if result.Status != common.ResultCodeSynced {
			err = errors.Join(err, errors.New("not synced"))
		}
	}
	return err
}

// unmanaged has nothing pruned.
func unmanaged(*cache.Resource) bool { return false }

// compare prints "Synced" or "OutOfSync", as the Application's status has it, and how the objects differ.
func compare(config *rest.Config, live cache.ClusterCache, namespace string, objects []*unstructured.Unstructured) error {
	managed, err := live.GetManagedLiveObjs(objects, unmanaged)
	if err != nil {
		return err
	}
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	applier, cleanup, err := kubectl.ManageServerSideDiffDryRuns(config)
	if err != nil {
		return err
	}
	defer cleanup()
	pairs := sync.Reconcile(objects, managed, namespace, live)
	found, err := diff.DiffArray(pairs.Target, pairs.Live, diff.WithLogr(logr.Discard()), diff.WithGVKParser(live.GetGVKParser()),
		diff.WithManager(manager), diff.WithServerSideDiff(true), diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)))
	if err != nil {
		return err
	}
	if !found.Modified {
		fmt.Println("Synced")
		return nil
	}
	fmt.Println("OutOfSync")
	for _, d := range found.Diffs {
		fmt.Printf("live %s\nwant %s\n", d.NormalizedLive, d.PredictedLive)
	}
	return nil
}
