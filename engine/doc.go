// Package engine moves the messages of one rank.
//
// docs/ARCHITECTURE.md shows the way of a message through it.
//
// An Engine has one progress right. Its holder owns the sockets, parsers and staging memory and may
// run the driver. Usually that is the worker, a goroutine locked to an OS thread (worker.go), and
// under the assist policy for short times a caller that waits (wait.go; right.go says whose turn it
// is). Everything about matching and protocol is in the core, a state machine that the engine's
// mutex guards.
//
// # Use
//
//	e, err := engine.Listen(cfg)      // opens the listener
//	... publish e.Addr(), learn the addresses of the others ...
//	err = e.Start(peers)              // fills the bridge table, starts the worker
//	m := &engine.MSO{Kind: engine.KindRecv, ...}
//	e.Post(m, engine.Computes)
//	e.Wait(m)                         // or poll m.IsDone
//	err = e.Close(timeout)
//
// # Drivers
//
// A turn is one bounded round: commands, output, rings, sockets, jobs, output. Only the holder of
// the right takes turns. Config.Progress says which goroutines may hold it:
//
//   - Worker: the worker alone.
//   - Assist, which package mpi chooses by default: a caller that blocks takes the right as well.
//     It polls as long as a core is free for that (Config.Spin). Where none is, it polls and yields
//     the core in between (Config.Yield), and then sleeps in the poller with the right kept
//     (Config.Doze). When nothing comes it gives the right back to the worker. A blocking send
//     drives its own message out of the user's memory. Reasons are in docs/decisions/0003, 0008,
//     0009 and 0021.
//   - Caller: there is no worker. Blocked callers drive, one at a time. A caller that stops writes
//     what others have posted meanwhile, and passes the right on. Nothing stays in the library send
//     buffer (docs/decisions/0005).
//
// The worker takes the right for one turn after another, and sleeps without it, in the poller.
// Where the poller is armed the worker hears the sockets. Where it is not, the worker leaves them
// to callers that poll. Where the worker is, and whether it must drive, is in the word of the right
// (package progress), so that a goroutine decides in one step what it must wake.
// A worker whose callers have the habit of waiting at once for what they post is not woken by those
// posts. Where there may be no core for it the worker takes one that is idle, or rests between its
// looks, and callers write what they post (Config.Moderation, rest.go, docs/decisions/0066, 0085).
//
// With Config.Workers further threads make system calls of the holder of the right (hands.go),
// which is an experiment.
//
// # Connections
//
// A rank has one listener for each address of Config.Listen (listen.go). The [Route]s to a peer are
// the ways to connect to it, the best first: its addresses, or the gateways of its domain. To a
// gateway a preamble says for which rank the connection is. The driver tries the routes in turn,
// and again (dial.go). What it knows of that is an attempt, which is forgotten when a connection
// stands, whichever of the two ranks has dialled it.
//
// With Config.TLS a connection is securing between the connect and the handshake of the ranks
// (secure.go, docs/decisions/0022). From then on all that it reads and writes goes through a
// jobtls.Conn. Frames, credits and the core know nothing of that.
//
// Ranks of other jobs are peers, too, once they are introduced (meeting.go, docs/decisions/0071).
// They have the numbers behind those of the job, are reached by TCP, and prove themselves by the
// name and the secret of a meeting.
//
// Strangers and failed handshakes are dropped, counted and logged. They never touch the core.
//
// # Ranks of one host
//
// [Way] says how a peer is reached, and both ranks of a pair must be given the same. A peer of this
// host is reached by a lane (lane.go): a ring each way, in the memory of the process if the peer is
// a thread of it, else in the segment that the launcher has made. The rings carry the same stream
// of frames as a connection. A frame that finds the stream empty is put into the ring by its
// poster, with the mutex held.
//
// The block of a rank (package shm) says whether the rank sleeps, which peers write to it, which of
// them have hung up without room for a goodbye in the ring, and what the rank offers. A goroutine
// that has put something looks, after it has released its mutex, whether the peer sleeps. A process
// is woken by its bell, an eventfd that the launcher hands out on demand (Config.AskBell). A thread
// is visited (visit.go). The visitor takes the peer's right, if that is free, and delivers into the
// peer's queues. What it makes that peer send, it delivers next. Nothing is delivered so where the
// policy is Caller.
//
// A long payload that is one piece of memory is offered, and its receiver fetches it (offer.go).
// Between threads the receiver copies it from the sender's memory, and a sender that waits copies
// parts from the other end (share.go). Between processes the kernel copies, where that was measured
// to be fast and is permitted (copying.go, fetch.go). Several payloads of a peer are then read by
// one call. Where it is not, and for very long payloads whose senders only wait for them, they go
// through the ring, at which both sides copy at once (docs/decisions/0012, 0055, 0084).
//
// Each operation goes through one of three doors, and says what its caller does next (Intent). Send
// and Recv do a message of plain memory at once, if it can be complete at once, and need no MSO for
// it. If anything is to be considered they report false, and the caller begins anew by Post, which
// takes all else, or by StartSchedule (docs/decisions/0048, 0068).
//
// # Functions of the user's
//
// Some steps of schedules call functions of the user's: operations of reductions, methods that
// serialise. Such a step may end its goroutine, and the holder of the right must not end with it.
// So the driver runs these steps on a coroutine beside its own goroutine (aside.go,
// docs/decisions/0064). An [Observer] is called with the mutex held, a [TurnObserver] without it
// but perhaps with the right. Handlers of a [Service], Config.OnSignal and Config.OnPeerGone are
// called by the goroutine that makes progress, without the mutex.
//
// # Failure
//
// Two ranks may both resume (Config.Resume). Then a connection that breaks between them is made
// again by either, and both streams go on where the other side has received them. resume.go has
// what outlives a connection: the parser's state, numbers, deadlines (docs/decisions/0031). A send
// from the user's memory is complete then when it is acknowledged.
//
// A peer fails if its connection breaks and they do not both resume, or if no other connection
// stands within Config.Reconnect. It fails too if it cannot be reached, by a frame that it must not
// send, by silence, and by what another party says of it (FailPeer).
//
// Silence is found by heartbeats: pulse.go decides, heart.go drives. When the next one is due, the
// goroutine that makes progress shows peers that have a connection that this rank lives, and looks
// at counters that grow anyway. In shared memory a goroutine of its own shows it (pacer.go),
// whatever the worker and the callers do. Threads of one process share their fate. Before a silent
// peer fails, Config.OnSuspect may leave the decision to the launcher (docs/decisions/0032).
//
// # Concurrency
//
// All methods of Engine are safe for concurrent use. An MSO, and the memory of its message, is its
// owner's until Post and from the moment IsDone reports true. The store to its done word is the
// last thing that the engine does to it.
//
// The mutex guards the core. Sections are short. They make no system call, and copy no more of a
// message on its way than some KiB, unless its receive is given up. The right owns the poller,
// sockets, parsers, staging memory and handshakes. A lane's reader belongs to the right, and its
// writer to the mutex. As long as the stream to the peer is not empty the writer belongs to the
// right, without the mutex. An offer belongs to the side that has changed its state word.
//
// The lock order is: progress right, then mutex. Waiters and peers are woken after the mutex is
// released. A visitor only tries to take the right of the rank that it visits.
//
// # Limits
//
// The engine knows nothing of communicators, element types, flags or Prometheus, and reads no
// environment: it takes a Config and gives Stats. The text of one error of the core names
// FITMPI_UNEXPECTED all the same, as that is what users can change.
package engine
