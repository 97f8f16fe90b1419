// Package fights is the platform's configuration of package contention: which field managers
// are ours, and how to make each leave a field. The Runtime of package coapply watches for
// fights and reports them.
package fights
