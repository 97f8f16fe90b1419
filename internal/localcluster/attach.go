package localcluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Attach returns the cluster of a kubeconfig that another process has from Start, so that tests
// of several packages share one. Its Stop does nothing.
func Attach(kubeconfig string) (*Cluster, error) {
	dir := filepath.Dir(kubeconfig)
	names, err := os.ReadDir(filepath.Join(dir, "clusters"))
	if err != nil {
		return nil, fmt.Errorf("attaching to the cluster of %s: %w", kubeconfig, err)
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("attaching to the cluster of %s: its folder has %d clusters, want one", kubeconfig, len(names))
	}
	c := &Cluster{run: &run{dir: dir}, name: names[0].Name(), kubeconfig: kubeconfig, attached: true}
	c.binaries = c.run.binaries()
	if c.etcd, err = (kwokctl{run: c.run, name: c.name}).configuredEtcd(); err != nil {
		return nil, err
	}
	c.config, err = AttachAPIServer(kubeconfig)
	return c, err
}

// configuredEtcd returns the URL of etcd from what configure wrote.
func (k kwokctl) configuredEtcd() (string, error) {
	file, err := os.Open(k.configFile())
	if err != nil {
		return "", fmt.Errorf("looking for etcd: %w", err)
	}
	defer file.Close()
	var config struct{ Options struct{ EtcdPort int } }
	if err := json.NewDecoder(file).Decode(&config); err != nil { // after it there are stages, in YAML
		return "", fmt.Errorf("looking for etcd in %s: %w", k.configFile(), err)
	}
	return fmt.Sprintf("http://%s:%d", loopback, config.Options.EtcdPort), nil
}

// WriteKubeconfig writes a kubeconfig of the administrator, for other processes: AttachAPIServer reads it.
func (s *APIServer) WriteKubeconfig(file string) error {
	if err := os.WriteFile(file, s.environment.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}

// AttachAPIServer returns the client configuration of a kubeconfig, without a client-side rate limit: the server's priority
// and fairness decide.
func AttachAPIServer(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("attaching to the API server of %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}
