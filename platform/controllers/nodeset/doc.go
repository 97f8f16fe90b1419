// Package nodeset reconciles a NodeSet: as many slurmd pods as it has replicas,
// NAME-0 to NAME-(N-1).
//
// # Why it is right under parallel reconciles, a stale cache and a restart
//
//  1. Nothing is counted to decide what to create. Each pod has a name that follows
//     from its ordinal, and is applied under that name: two reconciles that both
//     miss it make one pod. There is no state but the cluster's.
//  2. A round begins with decide, a pure function of the NodeSet and its pods as
//     they are in the cache, which shows what this process has written
//     (read-your-writes).
//  3. Before anything is written, the API server is asked: the NodeSet must still have the uid,
//     the generation and the controller's address that were decided upon. So a round that saw 3
//     replicas instead of 5 deletes nothing, and one that saw 5 instead of 3 starts no pod that
//     would have to go again. A round creates, mends and deletes at most batch pods each, and
//     then looks again.
//  4. A delete carries the uid and the resourceVersion of the pod decided upon. A pod that is
//     another one by now, or has become ready, stays until the next decision.
//  5. A late apply cannot change a pod of another revision into one of its own: the revision is
//     in the container's environment, which is immutable, so the server refuses the apply.
//  6. A pod that is being deleted keeps its name. Nothing is applied to it; its deletion event
//     starts the next round.
//
// A round that finds everything as wanted sends nothing.
package nodeset
