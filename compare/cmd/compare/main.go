// Command compare measures the speed and the lost updates of concurrent writers. It compares Server-Side Apply with
// get-modify-update, and coapply with other libraries. See docs/benchmarking.md.
package main

import (
	"os"

	"coapply.dev/compare/commands"
)

func main() { os.Exit(commands.Main(commands.Catalogue())) }
