//go:build linux

package metrics

import "github.com/fitmpi/fitmpi/engine"

// table is every metric, in the order in which its value comes into being.
var table = []metric{
	// Messages.
	byProtocol("sent_messages_total", "Messages posted to other ranks, by the protocol chosen for them.",
		func(s *engine.Stats) *[len(protocols)]uint64 { return &s.SentMessages }),
	byProtocol("sent_bytes_total", "Payload bytes of the messages posted to other ranks, by protocol.",
		func(s *engine.Stats) *[len(protocols)]uint64 { return &s.SentBytes }),
	counter("self_messages_total", "Messages of the rank to itself, which are no sent messages.",
		func(s *engine.Stats) uint64 { return s.SelfMessages }),
	counter("received_messages_total", "Messages that completed a receive, those of the rank to itself included.",
		func(s *engine.Stats) uint64 { return s.ReceivedMessages }),
	counter("received_bytes_total", "Payload bytes of the received messages.",
		func(s *engine.Stats) uint64 { return s.ReceivedBytes }),
	counter("unexpected_messages_total", "Messages from other ranks that arrived before their receive was posted.",
		func(s *engine.Stats) uint64 { return s.Unexpected }),
	counter("credit_stalls_total", "Messages sent by rendezvous although they are short, because the receiver is late with receives and its credit used up.",
		func(s *engine.Stats) uint64 { return s.CreditStalls }),
	counter("cancelled_operations_total", "Operations that ended because they were cancelled.",
		func(s *engine.Stats) uint64 { return s.Cancelled }),
	counter("schedule_steps_total", "Local steps of collectives (copies and reductions) that were run.",
		func(s *engine.Stats) uint64 { return s.StepsRun }),

	// Queues.
	gauge("posted_receives", "Receives on the request queue: posted, and no message has come for them.",
		func(s *engine.Stats) int { return s.Posted }),
	gauge("event_queue_messages", "Messages on the event queue: arrived, and no receive has been posted for them.",
		func(s *engine.Stats) int { return s.EventQueue }),
	gauge("active_operations", "Operations that were posted and are not complete.",
		func(s *engine.Stats) int { return s.Active }),
	gauge("detached_operations", "Operations that go on after the call that began them: sends from the library buffer above all.",
		func(s *engine.Stats) int { return s.Detached }),

	// Memory.
	gauge("send_buffer_used_bytes", "Bytes of the library send buffer in use.",
		func(s *engine.Stats) int { return s.BufferUsed }),
	gauge("send_buffer_high_water_bytes", "Largest number of bytes of the library send buffer that were ever in use.",
		func(s *engine.Stats) int { return s.BufferHighWater }),
	gauge("send_buffer_limit_bytes", "Size of the library send buffer.",
		func(s *engine.Stats) int { return s.BufferBudget }),
	counter("send_buffer_stalls_total", "Times the library send buffer had no room for what was asked of it.",
		func(s *engine.Stats) int { return s.BufferStalls }),
	gauge("unexpected_used_bytes", "Bytes of memory that hold payloads of messages whose receive was not posted when they arrived.",
		func(s *engine.Stats) int { return s.SlabsUsed }),

	// Progress.
	counter("driver_turns_total", "Rounds of the driver, by whoever held the progress right.",
		func(s *engine.Stats) uint64 { return s.Turns }),
	counter("caller_turns_total", "Times a blocked caller took the progress right to drive for itself.",
		func(s *engine.Stats) uint64 { return s.CallerTurns }),
	counter("wakes_total", "Times that a call woke the sleeping worker, or a caller that sleeps in the poller.",
		func(s *engine.Stats) uint64 { return s.Wakes }),
	counter("waits_holding_total", "Waits for events that kept the processor of the Go scheduler, for quick reaction.",
		func(s *engine.Stats) uint64 { return s.WaitsHolding }),
	counter("waits_blocking_total", "Waits for events in an ordinary system call, which costs an idle rank nothing.",
		func(s *engine.Stats) uint64 { return s.WaitsBlocking }),

	// Sockets.
	counter("socket_reads_total", "System calls that read from sockets.",
		func(s *engine.Stats) uint64 { return s.Reads }),
	counter("socket_writes_total", "System calls that write to sockets.",
		func(s *engine.Stats) uint64 { return s.Writes }),
	counter("socket_read_bytes_total", "Bytes read from sockets, headers included.",
		func(s *engine.Stats) uint64 { return s.BytesIn }),
	counter("socket_written_bytes_total", "Bytes written to sockets, headers included.",
		func(s *engine.Stats) uint64 { return s.BytesOut }),
	counter("received_frames_total", "Frames received from other ranks.",
		func(s *engine.Stats) uint64 { return s.FramesIn }),

	// Ranks of this host.
	gauge("lanes", "Ranks of this host with whom memory is shared and in use.",
		func(s *engine.Stats) int { return s.Lanes }),
	counter("bells_total", "Times that a rank in another process of this host was woken.",
		func(s *engine.Stats) uint64 { return s.Bells }),
	counter("visits_total", "Times that the thread of another rank of this process delivered into the queues.",
		func(s *engine.Stats) uint64 { return s.Visits }),
	counter("fetched_bytes_total", "Payload copied straight from the memory of ranks of this host.",
		func(s *engine.Stats) uint64 { return s.FetchedBytes }),
	counter("refused_fetches_total", "Messages that could not be fetched from their sender's memory and were asked for.",
		func(s *engine.Stats) uint64 { return s.FetchesRefused }),

	// Connections.
	gauge("connections", "Connections to other ranks, open, being made or waited for.",
		func(s *engine.Stats) int { return s.Connections }),
	counter("dials_total", "Connections begun by this rank.",
		func(s *engine.Stats) uint64 { return s.Dials }),
	counter("accepts_total", "Connections accepted, before their handshake.",
		func(s *engine.Stats) uint64 { return s.Accepts }),
	counter("accept_errors_total", "Errors of accepting connections.",
		func(s *engine.Stats) uint64 { return s.AcceptErrors }),
	counter("duplicate_connections_total", "Connections given up because both sides had dialled.",
		func(s *engine.Stats) uint64 { return s.Duplicates }),
	byReason("rejected_handshakes_total", "Connections that did not get through their handshake, by reason.",
		func(s *engine.Stats) map[string]uint64 { return s.Rejects }),
	counter("failed_peers_total", "Ranks found to have failed.",
		func(s *engine.Stats) uint64 { return s.PeersFailed }),
}
