// Command peers measures what coapply promises of speed, beside the ways that others take, and prints one table. See
// docs/benchmarking.md.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
