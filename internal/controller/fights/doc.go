// Package fights is the platform's configuration of package contention: which field
// managers are ours, and how each is brought to leave a field. The Runtime of package
// coapply watches for it, and tells people.
package fights
