package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
)

// Pool is a number of child processes. End it with Close.
type Pool struct {
	children []*process
}

// Start starts children of this very program. They end with Close, with the context, or when this process ends, as their
// orders end then.
func Start(ctx context.Context, number int, user *rest.Config) (*Pool, error) {
	user = rest.CopyConfig(user)
	if err := rest.LoadTLSFiles(user); err != nil {
		return nil, fmt.Errorf("reading the API server's certificate: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Pool{}
	for range number {
		child, err := startProcess(ctx, program, access{Host: user.Host, Token: user.BearerToken, CA: user.CAData})
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.children = append(p.children, child)
	}
	return p, nil
}

// First is the first processes of the pool, which it shares with it.
func (p *Pool) First(number int) *Pool { return &Pool{children: p.children[:number]} }

// Close returns when all children have ended.
func (p *Pool) Close() error {
	var trouble []error
	for _, child := range p.children {
		trouble = append(trouble, child.close())
	}
	return errors.Join(trouble...)
}

// Arm is the arm in these processes. A writer belongs to one of them by its number, so that with as many field managers
// as processes each process has one.
func (p *Pool) Arm(of compare.Arm) compare.Arm {
	return compare.Arm{
		Name:    of.Name + "-in-processes",
		Summary: of.Summary + fmt.Sprintf(", from %d processes", len(p.children)),
		New: func(compare.Session) (compare.Writer, error) {
			for _, child := range p.children {
				if err := child.order(order{Arm: of.Name}); err != nil {
					return nil, err
				}
			}
			return p, nil
		},
	}
}

// Write implements compare.Writer.
func (p *Pool) Write(ctx context.Context, i compare.Intent) (compare.Receipt, error) {
	return p.children[i.Writer%len(p.children)].write(ctx, i)
}

// process is one child.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	read    chan struct{} // closed when its answers ended

	mu     sync.Mutex
	orders *json.Encoder
	number int
	wanted map[int]chan answer
}

const endBound = 5 * time.Second

func startProcess(ctx context.Context, program string, a access) (*process, error) {
	command := exec.CommandContext(ctx, program, Command)
	command.Stderr, command.WaitDelay = os.Stderr, endBound
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting a process of writers: %w", err)
	}
	p := &process{
		command: command, in: in, read: make(chan struct{}), orders: json.NewEncoder(in), wanted: map[int]chan answer{},
	}
	go p.listen(out)
	if err := p.order(order{Access: &a}); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *process) order(o order) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.orders.Encode(o)
}

// listen hands out the answers. Who waits when they end has no answer.
func (p *process) listen(out io.Reader) {
	defer close(p.read)
	for answers := json.NewDecoder(out); ; {
		var a answer
		if answers.Decode(&a) != nil {
			return
		}
		p.mu.Lock()
		if wanted, ok := p.wanted[a.Number]; ok {
			wanted <- a // it has room for one
			delete(p.wanted, a.Number)
		}
		p.mu.Unlock()
	}
}

var errGone = fmt.Errorf("the process of the writer has ended: %w", io.ErrUnexpectedEOF)

func (p *process) write(ctx context.Context, i compare.Intent) (compare.Receipt, error) {
	within := time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		within = time.Until(deadline)
	}
	wanted := make(chan answer, 1)
	p.mu.Lock()
	p.number++
	number := p.number
	p.wanted[number] = wanted
	err := p.orders.Encode(order{Intent: wired(number, within, i)})
	p.mu.Unlock()
	if err != nil {
		return compare.Receipt{}, errors.Join(errGone, err)
	}
	select {
	case a := <-wanted:
		return compare.Receipt{ResourceVersion: a.Revision, Skipped: a.Skipped}, a.err()
	case <-p.read:
		return compare.Receipt{}, errGone
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.wanted, number)
		p.mu.Unlock()
		return compare.Receipt{}, errors.Join(ctx.Err(), p.order(order{Cancel: number}))
	}
}

func (p *process) close() error {
	_ = p.in.Close() // it ends by that
	<-p.read
	return p.command.Wait()
}
