// Package commands is the command line of the benchmark. It stands apart from cmd/compare so that arms and workloads of
// your own can be measured beside those that come with it: a main of your own calls Main with a longer Catalogue.
// compare/examples/mine is one.
package commands
