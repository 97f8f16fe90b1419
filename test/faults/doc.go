// Package faults tests the platform and the library while the API server, the network or the manager's process fails. A
// Wire is an HTTP transport between a manager and the API server, in the test process. It injects the fault that a Plan
// chooses for a request, or that an EventPlan chooses for an event of a watch.
//
//	make faults                                                      # all tests
//	cd test/faults && go test -run '^TestMatrix/nodeset' .           # the matrix of one kind
//	go test -v -run '^TestMatrix$/^devbox_roll$/(held|lost)' .       # two faults of one scenario
//	COAPPLY_SEED=7 COAPPLY_CASES=20 go test -run '^TestMatrix$' .    # a sample of the matrix
//	COAPPLY_SEED=1001 COAPPLY_CASES=100 go test -v -run '^TestRandomFaults$' . # the random runs 1,001 to 1,100
//
// TestMatrix is exhaustive: runs without faults record the writes of the manager in each scenario. Then each fault of
// each of these writes is tested in a separate run. docs/reliability.md has the findings.
package faults
