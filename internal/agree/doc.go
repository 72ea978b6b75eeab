// Package agree decides one value among members of which any number may fail, at any time: the agreement behind
// Agree and Shrink of package mpi (ULFM).
//
// # What it guarantees
//
// Every member that lives contributes a [Value] to each agreement; agreements of one group are numbered from 0 and come in
// that order at every member.
//
//   - Agreement, uniform: whoever decides, decides the same, members that fail afterwards included.
//   - Validity: the decision combines the contributions of all members that live when it is made, perhaps those of some
//     that have failed, and nothing else. Members whose contribution is missing are in its set of failed ones.
//   - Termination: every member that lives, and has contributed, decides, if all that live contribute.
//
// # What it assumes
//
// Messages between members that live arrive once, unchanged, in any order; those of a member that has failed may be lost.
// The failure of a member is told to every other in the end (detection is complete), and only of members that have failed
// (it is accurate). Members learn of a failure at different times. Accuracy is the launcher's: it ends for good whoever is
// held to be dead, before others are told so. What a rank infers from its own connections is not enough where there is such a launcher.
//
// # How it works
//
// The members that were not agreed to have failed before form a binary tree, in their order, each below a lower one. The
// coordinator is the lowest member that lives, as far as each knows. A round has four sweeps, each of n-1 messages:
//
//	Gather   up    what a subtree contributes, once it is complete
//	Propose  down  the value that the coordinator makes of it; who gets it accepts it
//	Ack      up    a subtree has accepted
//	Commit   down  the value is decided
//
// That is twice a tree's reduction and broadcast: the second half makes the decision uniform. After the first, those who knew
// the value might all fail, having returned it. With two members the second Propose is the decision, and three messages do.
//
// When a member learns that another has failed, it takes the tree without it: children of the failed one are children of its
// nearest living ancestor, and those without any are the coordinator's. To new children it says again what goes down, to
// a new parent what goes up. All that is said is true whoever says it and however often, so nothing needs to be undone: that
// a subtree is complete means that each of its members has contributed (or accepted) or is dead.
//
// A member that becomes coordinator proposes what it has accepted last, if anything, else what it gathers. A proposal goes by
// the number of its coordinator, the ballot; nobody accepts one of a lower ballot than before. Why that is safe: a
// coordinator decides when all that live, as it knows, have accepted its ballot, while it lives itself. So whoever
// coordinates after it has accepted that ballot or one later, and the first that does so after the decision proposes the same value,
// and so do all after that. A member that has not accepted, when it becomes coordinator, knows by that alone that
// nothing was decided.
//
// Who has decided remembers the value, and tells it those that become its neighbours by later failures, until the next
// agreement's proposal says that everybody has decided this one.
//
// A [Machine] is one member. It is a pure state machine: no goroutine, lock, clock or system call. Messages and notices of
// failures go in, [Letter]s and [Decision]s come out. It is checked by exhaustive exploration in the package's tests.
package agree
