package plain

import "fmt"

func Hello() { fmt.Println("hello") }
