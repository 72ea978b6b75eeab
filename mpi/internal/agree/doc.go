// Package agree decides one value among members of which any number may fail, at any time: the
// agreement behind Agree and Shrink of package mpi (ULFM).
//
// # What it guarantees
//
// Every member that lives contributes a [Value] to each agreement; agreements of one group are
// numbered from 0 and come in that order at every member.
//
//   - Agreement, uniform: all members that decide reach the same decision, those that fail
//     afterwards included.
//   - Validity: the decision combines the contributions of all members that live when it is made,
//     perhaps those of some that have failed, and nothing else. Members whose contribution is
//     missing are in its set of failed ones.
//   - Termination: every member that lives, and has contributed, decides, if all that live
//     contribute.
//
// # What it assumes
//
// Messages between members that live arrive once, unchanged, in any order; those of a member that
// has failed may be lost. Every member is told in the end of the failure of every other (detection
// is complete), and only of members that have failed (it is accurate). Members learn of a failure
// at different times. The launcher provides the accuracy: it ends for good each member that is held
// to be dead, before it tells the others. What a rank infers from its own connections is not enough
// where there is such a launcher.
//
// # How it works
//
// The members that were not agreed to have failed before form a binary tree, in their order, each
// below a lower one. The coordinator is the lowest member that lives, as far as each knows. A round
// has four sweeps, each of n-1 messages:
//
//	Gather   up    what a subtree contributes, once it is complete
//	Propose  down  the value that the coordinator makes of it; each member that gets it accepts it
//	Ack      up    a subtree has accepted
//	Commit   down  the value is decided
//
// That is twice a tree's reduction and broadcast: the second half makes the decision uniform. After
// the first half alone, the members that knew the value might all return it and then fail. With two
// members the second Propose is the decision, and three messages do.
//
// When a member learns that another has failed, it takes the tree without the failed member. The
// children of that member become children of its nearest living ancestor, and those without any
// become the coordinator's. To new children the member says again what goes down, to a new parent
// what goes up. All that is said is true, whichever member says it and however often, so nothing
// needs to be undone. That a subtree is complete means that each of its members has contributed (or
// accepted) or is dead.
//
// A member that becomes coordinator proposes what it has accepted last, if anything, else what it
// gathers. A proposal goes by the number of its coordinator, the ballot. No member accepts a
// proposal of a lower ballot than one that it has accepted before. Why that is safe: a coordinator
// decides when all that live, as far as it knows, have accepted its ballot, while it lives itself.
// So every later coordinator has accepted that ballot or one later. The first that coordinates
// after the decision proposes the same value, and so do all after that. A member that has not
// accepted anything when it becomes coordinator knows by that alone that nothing was decided.
//
// A member that has decided remembers the value. It tells the value to those that become its
// neighbours by later failures, until the next agreement's proposal says that all members have
// decided this one.
//
// A [Machine] is one member. It is a pure state machine: no goroutine, lock, clock or system call.
// Messages and notices of failures go in, [Outgoing]s and [Decision]s come out. It is checked by
// exhaustive exploration in the package's tests.
package agree
