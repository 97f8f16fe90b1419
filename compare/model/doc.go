// Package model predicts goodput, stale writes and give-ups of many writers of one object, from trials with few.
//
// Two parts. The closed forms (Loop) are the frame: Poisson and renewal differ by the shape of the window in which an
// attempt can be overtaken, and the band of Franaszek and Robinson holds for every shape. A simulator is in between:
// writers in closed loop, each with the retry policy of its arm and waiting for its turn where the run says so, times drawn
// from the histograms of one writer alone.
//
// What the simulator knows of the machine. All work shares the processors in equal parts. A request is work in pieces:
// until the object is read, until versions are compared, until the store commits, and the answer; added round trips are
// waited for outside of it. Get-modify-update reads by one request and writes by another; the server compares versions
// after it has merged, and merges a second time before it refuses a stale write. Server-Side Apply is one request: the
// server starts from its cache, merges, and merges again each time that it lost the race, until the request times out
// after 34 s. Field managers cost each write more, faster than in proportion to their number; a manager that updates takes
// its field out of its own entry of applied fields and costs less from then on.
//
// What is measured and what is fitted. The times of one writer alone, with few and with many managers, are measured
// (alone). Five or six numbers are fitted (parameters), one set for the arms that apply and one for those that get, modify
// and update, by goodput and by the share of stale writes. Fitted are cells without added round trip of 1, 4 and 16 writers
// with a number of managers that was measured with one writer alone too, and of 4 writers with a number between those. All
// other cells are for the check: more writers, other writers with other managers, an added round trip. An arm of which the
// median error of goodput there is above 10 %, or the worst above 25 %, is not accepted, and nothing is said of it beyond
// the measured cells. The cost of managers is interpolated only: cells with more managers than one writer alone was
// measured with are shown with their error, and do not count.
//
// What it does not know: priority and fairness, the limit of requests in flight, timeouts of clients, other objects, what
// the network does to connections. It is of the machine that it was fitted on: more processors are another model.
package model
