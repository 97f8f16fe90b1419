// Package theft tests the rule wide-update on a real API server: a user applies an object, an operator updates the whole
// Go object, and the owners may change only for the fields that the rule names.
package theft
