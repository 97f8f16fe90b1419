package fieldowners_test

import (
	"fmt"
	"time"

	"coapply.dev/fieldowners"
)

func ExampleFights() {
	byPower := mustParse(exampleEntry("power", "Apply", `{"f:spec":{"f:replicas":{}}}`))
	byHPA := mustParse(exampleEntry("hpa", "Update", `{"f:spec":{"f:replicas":{}}}`))
	fights, err := fieldowners.NewFights(5)
	if err != nil {
		panic(err)
	}
	before, after, now := byPower, byHPA, time.Unix(0, 0)
	for range 10 { // what a watch shows
		now = now.Add(4 * time.Second)
		for _, fight := range fights.Observe("shop/web", fieldowners.Diff(before, after), now) {
			fmt.Println(fight)
		}
		before, after = after, before
	}
	fmt.Println(len(fights.Active(now)), "goes on;", len(fights.Active(now.Add(time.Minute))), "a minute later")
	// Output:
	// .spec.replicas of shop/web: hpa/Update and power/Apply took it from each other 6 times in a minute
	// 1 goes on; 0 a minute later
}
