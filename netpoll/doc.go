// Package netpoll is what the engine needs of the kernel's networking: an epoll instance that can
// be woken, and nonblocking TCP sockets that read and write without allocating. It knows nothing of
// messages.
//
// # Use
//
// Make a [Poller], [Dial] or [Listen] sockets, and add them under a 64-bit token. The poller hands
// tokens back in [Event]s; it never looks inside them. A token should name a slot and the slot's
// generation, so that an event which was fetched before its socket was replaced can be told from
// one of the new socket:
//
//	n, err := p.Poll(evs)
//	for _, ev := range evs[:n] {
//		if peer := peers.lookup(ev.Token); peer != nil { // nil: stale
//			peer.ready(ev)
//		}
//	}
//
// Events are level-triggered: what is not read is reported again.
//
// # Polling and waiting
//
// [Poller.Poll] fetches events and never waits. Waiting is done in a [Waiter], of which a poller
// has one, and more on demand. It fetches nothing, so that another goroutine may poll meanwhile. A
// wait ends when a goroutine calls [Waiter.Wake]. For sockets that are ready it ends only when the
// waiter was armed ([Waiter.Arm]), once.
//
// [Waiter.Wait] is an ordinary blocking system call: the Go scheduler takes the P away meanwhile.
// That makes an idle process all but free of cost, but a return has to find a P again. Beside
// goroutines that compute without pause that takes up to 10 ms. [Waiter.WaitHolding] keeps the P:
// it returns within microseconds of an event, and in exchange holds up everything that needs all
// Ps, so it is bounded by [MaxHold]. Use Wait when nothing is outstanding and WaitHolding when
// something is.
//
// The other calls that touch sockets keep the P too. They never block; a transfer is cut after 1
// MiB, so that no call of this package delays the garbage collector's stop-the-world by much more
// than [MaxHold].
//
// # Concurrency
//
// A Poller, the sockets and the listeners added to it have one owner at a time, which may hand them
// over by any means that orders memory (a mutex, a try-lock). One goroutine at a time waits in a
// waiter; it need not be the owner. Only [Waiter.Wake] and [Waiter.Arm] may be called by any
// goroutine at any time.
//
// # Limits
//
// Linux, TCP over IPv4 and IPv6. On other systems, and with the build tag fitmpi_portable, a poller
// is a place to wait and to be woken, and no more: what makes a socket returns an error, and
// [HasSockets] is false. A vectored call takes at most [MaxVec] slices; longer lists are
// cut. There are no deadlines and no contexts here: nothing blocks but Wait, and Wake ends that.
package netpoll
