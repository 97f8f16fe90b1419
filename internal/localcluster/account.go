package localcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// tokenLife is what is asked for. It survives a night in which the machine sleeps and nothing is renewed.
	tokenLife = 24 * time.Hour
	// DefaultRenewal is how often a token is renewed: some hundred attempts may fail before it ends.
	DefaultRenewal = 10 * time.Minute
)

// Account lets programs act as a service account for as long as they run.
type Account struct {
	// Kubeconfig is the path of a kubeconfig that names a file with the account's token. client-go reads that file again
	// every minute.
	Kubeconfig string

	name   types.NamespacedName
	token  string // file
	client corev1client.ServiceAccountsGetter
	stop   context.CancelFunc
	done   chan struct{}
}

// ActAs writes a kubeconfig and a token of a service account into the run folder, and renews the token until Stop is
// called. A renewal that fails is logged and tried again after the same interval.
func (c *Cluster) ActAs(ctx context.Context, name types.NamespacedName, interval time.Duration, log io.Writer) (*Account, error) {
	client, err := corev1client.NewForConfig(c.Config())
	if err != nil {
		return nil, fmt.Errorf("acting as %s: %w", name, err)
	}
	base := filepath.Join(c.Dir(), name.Namespace+"-"+name.Name)
	a := &Account{Kubeconfig: base + ".kubeconfig", name: name, token: base + ".token", client: client, done: make(chan struct{})}
	if err := a.renew(ctx); err != nil {
		return nil, err
	}
	admin := c.Config()
	kubeconfig := clientcmdapi.Config{
		CurrentContext: "local",
		Clusters: map[string]*clientcmdapi.Cluster{"local": {
			Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name.Name: {TokenFile: a.token}},
		Contexts:  map[string]*clientcmdapi.Context{"local": {Cluster: "local", AuthInfo: name.Name, Namespace: name.Namespace}},
	}
	if err := clientcmd.WriteToFile(kubeconfig, a.Kubeconfig); err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
	}
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	go a.keep(ctx, interval, log)
	return a, nil
}

// Stop ends the renewing. The token holds until it ends by itself. Stop may be called again.
func (a *Account) Stop() {
	a.stop()
	<-a.done
}

func (a *Account) keep(ctx context.Context, interval time.Duration, log io.Writer) {
	defer close(a.done)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := a.renew(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(log, err)
			}
		}
	}
}

// renew replaces the file as a whole: a reader sees the old token or the new one.
func (a *Account) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife.Seconds()))}}
	answer, err := a.client.ServiceAccounts(a.name.Namespace).CreateToken(ctx, a.name.Name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("renewing the token of %s: %w", a.name, err)
	}
	next := a.token + ".next"
	if err := os.WriteFile(next, []byte(answer.Status.Token), 0o600); err != nil {
		return fmt.Errorf("renewing the token of %s: %w", a.name, err)
	}
	if err := os.Rename(next, a.token); err != nil {
		return fmt.Errorf("renewing the token of %s: %w", a.name, err)
	}
	return nil
}
