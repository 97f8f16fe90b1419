package main

import (
	"strings"

	"coapply.dev/internal/controller"
	"coapply.dev/internal/nearest"
)

const allControllers = "*"

// selectControllers returns the named reconcilers in the order of controller.All.
func selectControllers(names []string) ([]controller.Controller, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[strings.TrimSpace(name)] = true
	}
	var selected []controller.Controller
	for _, c := range controller.All() {
		if wanted[allControllers] || wanted[c.Name] {
			selected = append(selected, c)
		}
		delete(wanted, c.Name)
	}
	delete(wanted, allControllers)
	for _, name := range names {
		if wanted[strings.TrimSpace(name)] {
			return nil, unknownController(strings.TrimSpace(name))
		}
	}
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
	for _, c := range controller.All() {
		names = append(names, c.Name)
	}
	return names
}

func knownControllers() string { return strings.Join(controllerNames(), ", ") }
