// Package model predicts goodput, stale writes and give-ups of many writers of one object, from trials with few.
//
// Two parts. The closed forms (Loop) are the frame: Poisson and renewal differ by the shape of the window in which an
// attempt can be overtaken, and the band of Franaszek and Robinson holds for every shape. A simulator is in between:
// writers in closed loop, each with the retry policy of its arm, times drawn from the histograms of one writer alone.
//
// What the simulator knows of the machine. All work shares the processors in equal parts. A request is work in pieces:
// until the object is read, until versions are compared, until the store commits, and the answer; added round trips are
// waited for outside of it. Get-modify-update reads by one request and writes by another; a stale write costs the server as
// much as one that lands, since it compares versions after the merge and looks a second time. Server-Side Apply is one
// request: the server starts from its cache, merges, and merges again each time that it lost the race, until the request
// times out after 34 s. Each field manager adds the same time to a write; with get-modify-update, a manager that writes
// takes its field out of its own entry of applied fields and costs less from then on.
//
// What is measured and what is fitted. The times of one writer alone, and their growth with managers, are measured
// (alone). Two to four numbers an arm are fitted (armModel), on cells of 1, 4 and 16 writers without added round trip and
// with a number of managers that was measured with one writer alone too, by goodput and by the share of stale writes. All
// other cells are for the check: more writers, other numbers of managers, an added round trip. An arm of which the median
// error of goodput there is above 10 %, or the worst above 25 %, is not accepted, and nothing is said of it beyond the
// measured cells.
//
// What it does not know: priority and fairness, the limit of requests in flight, timeouts of clients, other objects, what
// the network does to connections. A machine with more cores than load is outside of what it was fitted on.
package model
