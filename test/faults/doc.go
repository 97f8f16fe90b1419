// Package faults finds out what the platform and the library do when the API server, the network or the process fails in
// the middle. A Wire is between a manager and the API server, in the process of the test, and does to one request, to
// one event of a watch, or to some at random, what a Plan says.
//
//	make faults                                                      # all of it
//	cd test/faults && go test -run '^TestMatrix/nodeset' .           # the matrix of one kind
//	go test -v -run '^TestMatrix$/^devbox_roll$/(held|lost)' .       # two faults of one scenario
//	COAPPLY_SEED=7 COAPPLY_CASES=20 go test -run '^TestMatrix$' .    # a sample of the matrix
//	COAPPLY_SEED=1001 COAPPLY_CASES=100 go test -v -run '^TestRandomFaults$' . # the random runs 1,001 to 1,100
//
// TestMatrix is exhaustive: what the manager writes in each scenario is noted in runs without a fault, and then each of
// those writes meets each fault in a run of its own. docs/reliability.md has what was found.
package faults
