// Package fights notices field managers that work against each other: they take a field from
// each other, set and delete it in turn (Detector), or answer each other's writes without a
// common field (Loops).
//
// # Contract
//
//  1. It sees ownership only, as a watch shows it: writers that share one name, operation and
//     subresource are one manager.
//  2. It has no clock: times come with what it is shown. What is older than a minute does not
//     count.
//  3. A fight or a loop is told when it begins, and again a minute after it was told, if it
//     goes on.
//  4. Memory is bounded: 10,000 fields, 1,000 families of objects, 16 managers of each.
//  5. Nothing here is safe for concurrent use.
//
// Valid:
//
//	detector, err := fights.New(5)
//	for _, fight := range detector.ObserveWrite("shop/web", before, after, time.Now()) {
//		fmt.Println(fight)
//	}
//
// Invalid: states of an object with others in between left out, as of a list that is polled.
// Who took a field and gave it back between two looks is not seen.
package fights
