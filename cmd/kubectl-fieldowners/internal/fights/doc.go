// Package fights detects field managers that work against each other: they take a field from
// each other, set and delete it in turn (Detector), or answer each other's writes without a
// common field (Loops).
//
// # Contract
//
//  1. It sees ownership only, as a watch shows it: writers that share one name, operation and
//     subresource are one manager.
//  2. It has no clock: its caller passes times. Moves and writes more than a minute ago do not
//     count.
//  3. A fight or a loop is returned when it begins, and again each minute while it goes on.
//  4. Memory is bounded: 10,000 fields, 1,000 families of objects, 16 managers of each.
//  5. The types are not safe for concurrent use.
//
// Valid:
//
//	detector, err := fights.New(5)
//	for _, fight := range detector.ObserveWrite("shop/web", before, after, time.Now()) {
//		fmt.Println(fight)
//	}
//
// Invalid: states of an object that leave out others in between, such as those of polling.
// Moves of a field between two polls are not seen.
package fights
