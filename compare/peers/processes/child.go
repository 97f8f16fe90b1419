package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/history"
)

// Serve is a child: it writes what the orders say until they end.
func Serve(ctx context.Context, catalogue compare.Catalogue, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &child{catalogue: catalogue, answers: json.NewEncoder(out), running: map[int]context.CancelFunc{}}
	defer c.all.Wait()
	defer cancel()
	for orders := json.NewDecoder(in); ; {
		var o order
		switch err := orders.Decode(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading orders: %w", err)
		}
		if err := c.follow(ctx, o); err != nil {
			return err
		}
	}
}

type child struct {
	catalogue compare.Catalogue
	session   *session
	writer    compare.Writer
	all       sync.WaitGroup

	mu      sync.Mutex // of answers and running
	answers *json.Encoder
	running map[int]context.CancelFunc
}

func (c *child) follow(ctx context.Context, o order) (err error) {
	switch {
	case o.Access != nil:
		c.session = newSession(*o.Access)
	case o.Arm != "":
		arm, found := c.catalogue.Arm(o.Arm)
		if !found {
			return fmt.Errorf("no arm %q", o.Arm)
		}
		c.writer, err = arm.New(c.session.compare())
	case o.Cancel != 0:
		c.mu.Lock()
		defer c.mu.Unlock()
		if cancel, ok := c.running[o.Cancel]; ok {
			cancel()
		}
	case o.Intent != nil:
		c.start(ctx, o.Intent)
	}
	return err
}

// start answers when the intent has been written. An intent of a former trial ends with its own writer.
func (c *child) start(ctx context.Context, i *intent) {
	ctx, cancel := context.WithTimeout(ctx, i.Within)
	c.mu.Lock()
	c.running[i.Number] = cancel
	c.mu.Unlock()
	writer := c.writer
	c.all.Go(func() {
		receipt, err := writer.Write(ctx, i.unwired())
		a := answer{Number: i.Number, Revision: receipt.ResourceVersion, Skipped: receipt.Skipped, Outcome: history.Landed}
		if err != nil {
			a.Outcome, a.Error = arms.Classify(err), err.Error()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		cancel()
		delete(c.running, i.Number)
		_ = c.answers.Encode(a) // a parent that is gone has closed our orders as well
	})
}

// session is the clients of one process: a connection for each field manager, without a rate limit, speaking JSON.
type session struct {
	config *rest.Config

	mu      sync.Mutex
	clients map[string]client.Client
}

func newSession(a access) *session {
	config := &rest.Config{Host: a.Host, BearerToken: a.Token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: a.CA}}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return &session{config: config, clients: map[string]client.Client{}}
}

func (s *session) compare() compare.Session {
	return compare.Session{
		Client: s.client,
		Config: func(string) *rest.Config { return rest.CopyConfig(s.config) },
	}
}

func (s *session) client(manager string) client.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.clients[manager]; ok {
		return known
	}
	made, err := connect(s.config)
	if err != nil {
		panic(fmt.Errorf("client of %s: %w", manager, err)) // the parent's client is made of the same configuration
	}
	s.clients[manager] = made
	return made
}

func connect(config *rest.Config) (client.Client, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper})
}
