package localcluster

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
)

// ActAs writes a kubeconfig into the run folder with which a program acts as a service account,
// with its rights only. The administrator impersonates the account, so there is no token that
// could expire.
func (c *Cluster) ActAs(name types.NamespacedName) (kubeconfig string, err error) {
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		return "", fmt.Errorf("acting as %s: %w", name, err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + name.Namespace + ":" + name.Name
	}
	for _, at := range config.Contexts {
		at.Namespace = name.Namespace
	}
	kubeconfig = filepath.Join(c.Dir(), name.Namespace+"-"+name.Name+".kubeconfig")
	return kubeconfig, clientcmd.WriteToFile(*config, kubeconfig)
}
