// Package theft tests on a real API server what the rule wide-update claims: which fields a write of a whole Go object
// takes from a Server-Side Apply manager.
package theft
