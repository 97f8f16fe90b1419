// Package ownerview shows one object's ownership to people and to programs: as YAML
// with owners beside the fields, as a table, as JSON.
//
// It is pure: objects in, text out. Values of Secrets never enter an Object, so that
// nothing here can print them. Names of managers are not authenticated, so whatever
// comes from an object is escaped before it reaches a terminal.
package ownerview
