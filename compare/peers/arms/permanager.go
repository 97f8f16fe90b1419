package arms

import "sync"

// perManager makes one value for each field manager.
type perManager[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

func (p *perManager[T]) of(manager string, create func() (T, error)) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[manager]; ok {
		return known, nil
	}
	made, err := create()
	if err != nil {
		return made, err
	}
	if p.known == nil {
		p.known = map[string]T{}
	}
	p.known[manager] = made
	return made, nil
}
