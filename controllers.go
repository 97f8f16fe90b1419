package coapply

import (
	"fmt"
	"slices"
	"sync"
)

// controllers lists the controllers that For has added to the manager of a Runtime.
type controllers struct {
	mu    sync.Mutex
	added []addedController
}

type addedController struct{ fieldManager, name string }

// add adds a controller. It returns an error if another controller has the same field manager or
// the same name.
func (c *controllers) add(one addedController) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.added {
		switch {
		case other.fieldManager == one.fieldManager:
			return fmt.Errorf("the controller %q applies under this field manager already: two controllers under one field manager "+
				"remove each other's fields, again and again; give each controller a field manager of its own", other.name)
		case other.name == one.name:
			return fmt.Errorf("the controller of the field manager %q has the name %q already: give this controller another name with Named",
				other.fieldManager, one.name)
		}
	}
	c.added = append(c.added, one)
	return nil
}

// remove removes a controller that could not be added to the manager.
func (c *controllers) remove(one addedController) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = slices.DeleteFunc(c.added, func(other addedController) bool { return other == one })
}
