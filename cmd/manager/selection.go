package main

import (
	"slices"
	"strings"

	"coapply.dev/internal/nearest"
	"coapply.dev/platform/controllers"
)

const allControllers = "*"

// selectControllers returns the named reconcilers in the order of controllers.All.
func selectControllers(names []string) ([]controllers.Controller, error) {
	known, wanted := controllerNames(), map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name != allControllers && !slices.Contains(known, name) {
			return nil, unknownController(name)
		}
		wanted[name] = true
	}
	selected := slices.DeleteFunc(controllers.All(), func(c controllers.Controller) bool {
		return !wanted[allControllers] && !wanted[c.Name]
	})
	if len(selected) == 0 {
		return nil, usagef("--controllers names none; known are %s", knownControllers())
	}
	return selected, nil
}

func unknownController(name string) error {
	if near := nearest.Names(name, controllerNames()); len(near) > 0 {
		return usagef("--controllers: no reconciler is called %q, did you mean %q? Known are %s", name, near[0], knownControllers())
	}
	return usagef("--controllers: no reconciler is called %q; known are %s", name, knownControllers())
}

func controllerNames() []string {
	var names []string
	for _, c := range controllers.All() {
		names = append(names, c.Name)
	}
	return names
}

func knownControllers() string { return strings.Join(controllerNames(), ", ") }
