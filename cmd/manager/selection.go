package main

import (
	"strings"

	"coapply.dev/internal/controller"
)

const allControllers = "*"

// selectControllers gives the named reconcilers in the order of controller.All.
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
	if near := nearest(name, controllerNames()); near != "" {
		return usagef("--controllers: no reconciler is called %q, did you mean %q? Known are %s", name, near, knownControllers())
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

// nearest is the name that a typo or a part of a name meant, "" when none is near.
func nearest(given string, names []string) string {
	const typos = 2
	best, bestDistance := "", typos+1
	for _, name := range names {
		if given != "" && strings.HasSuffix(name, "-"+given) {
			return name
		}
		if d := distance(given, name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1) // the distances of the prefix of a to each of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
