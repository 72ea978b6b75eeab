//go:build linux

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fitmpi/fitmpi/engine"
)

// table is every metric, in the order in which its value comes into being.
var table = []metric{
	// Messages.
	traffic("sent_messages_total", "Messages posted, by transport and by the protocol chosen for them.", true, messages),
	traffic("sent_bytes_total", "Payload bytes of the messages posted, by transport and protocol.", true, payload),
	traffic("received_messages_total", "Messages that completed a receive, by transport; as eager those that the sender counts as short or eager.", false, messages),
	traffic("received_bytes_total", "Payload bytes of the received messages, by transport and protocol.", false, payload),
	sizes("sent_message_size_bytes", "Payload of the messages posted.", func(s *engine.Stats) (*engine.SizeCounts, float64) {
		return &s.Sizes, sentBytes(s)
	}),
	byTransport(prometheus.GaugeValue, "peers", "Other ranks of the job, by the transport that leads to them.",
		func(w *engine.WayStats) float64 { return float64(w.Peers) }),
	byTransport(prometheus.CounterValue, "sent_frames_total", "Frames sent to other ranks: messages, their parts and answers.",
		func(w *engine.WayStats) float64 { return float64(w.FramesOut) }),
	byTransport(prometheus.CounterValue, "received_frames_total", "Frames received from other ranks.",
		func(w *engine.WayStats) float64 { return float64(w.FramesIn) }),
	pair(prometheus.CounterValue, "match_attempts_total", "Searches of the request queue for messages that arrived, and of the event queue for receives and probes.",
		"queue", [...]string{"request", "event"}, func(s *engine.Stats) (uint64, uint64) { return s.RequestMatches, s.EventMatches }),
	counter("unexpected_messages_total", "Messages from other ranks that arrived before their receive was posted.",
		func(s *engine.Stats) uint64 { return s.Unexpected }),
	counter("early_messages_total", "Those of them that were announced, and taken before their receive was posted.",
		func(s *engine.Stats) uint64 { return s.Early }),
	counter("credit_stalls_total", "Messages sent by rendezvous although they are short, because the receiver is late with receives and its credit used up.",
		func(s *engine.Stats) uint64 { return s.CreditStalls }),
	gauge("starved_peers", "Ranks to which nothing can be sent without announcing it first, because they have not given credit back.",
		func(s *engine.Stats) int { return s.Starved }),
	pair(prometheus.GaugeValue, "rendezvous_outstanding", "Messages announced and not yet taken, and receives whose announced message is on its way.",
		"direction", [...]string{"send", "receive"}, func(s *engine.Stats) (int, int) { return s.RendezvousSends, s.RendezvousReceives }),
	counter("cancelled_operations_total", "Operations that ended because they were cancelled.",
		func(s *engine.Stats) uint64 { return s.Cancelled }),
	counter("schedule_steps_total", "Local steps of collectives (copies and reductions) that the engine has run.",
		func(s *engine.Stats) uint64 { return s.StepsRun }),

	byCall("collectives_total", "Collective operations begun on communicators of the name, rounds of persistent ones included.",
		func(c Collective) float64 { return float64(c.Count) }),
	byCall("collective_wait_seconds_total", "Time that callers waited for those that are complete.",
		func(c Collective) float64 { return c.Waited.Seconds() }),

	// Queues.
	gauge("posted_receives", "Receives on the request queue: posted, and no message has come for them.",
		func(s *engine.Stats) int { return s.Posted }),
	gauge("event_queue_messages", "Messages on the event queue: arrived, and no receive has been posted for them.",
		func(s *engine.Stats) int { return s.EventQueue }),
	counter("posted_operations_total", "Operations that were posted, steps of collectives and partitions among them.",
		func(s *engine.Stats) uint64 { return s.Begun }),
	counter("completed_operations_total", "Operations that are complete, of those that were posted.",
		func(s *engine.Stats) uint64 { return s.Done }),
	gauge("active_operations", "Operations that were posted and are not complete.",
		func(s *engine.Stats) int { return s.Active }),
	gauge("detached_operations", "Operations that go on after the call that began them: sends from the library buffer above all.",
		func(s *engine.Stats) int { return s.Detached }),

	// Memory.
	gauge("send_buffer_used_bytes", "Bytes of the library send buffer in use.",
		func(s *engine.Stats) int { return s.BufferUsed }),
	gauge("send_buffer_kept_bytes", "Bytes of memory that are kept for the library send buffer, and not in use.",
		func(s *engine.Stats) int { return s.BufferKept }),
	gauge("send_buffer_high_water_bytes", "Largest number of bytes of the library send buffer that were ever in use.",
		func(s *engine.Stats) int { return s.BufferHighWater }),
	gauge("send_buffer_limit_bytes", "Size of the library send buffer.",
		func(s *engine.Stats) int { return s.BufferBudget }),
	counter("send_buffer_stalls_total", "Times the library send buffer had no room for what was asked of it.",
		func(s *engine.Stats) int { return s.BufferStalls }),
	counter("parked_stalls_total", "Times a standard send was not copied because as many as may wait for its receiver did.",
		func(s *engine.Stats) uint64 { return s.Refused }),
	gauge("unexpected_used_bytes", "Bytes of memory that hold payloads of messages whose receive was not posted when they arrived.",
		func(s *engine.Stats) int { return s.SlabsUsed }),
	gauge("unexpected_kept_bytes", "Bytes of memory that are kept for such payloads, and not in use.",
		func(s *engine.Stats) int { return s.SlabsKept }),
	gauge("early_used_bytes", "Bytes of memory that hold payloads of announced messages, or will, whose receive was not posted when they arrived.",
		func(s *engine.Stats) int { return s.EarlyUsed }),
	gauge("unsent_bytes", "Bytes, headers included, that wait for room in a socket or ring, or for a connection.",
		func(s *engine.Stats) int { return s.Unsent }),

	// Waiting and overlap.
	byWait("waits_total", "Waits of blocked callers that were not over at once, by what was waited for.",
		func(w engine.WaitStats) float64 { return float64(w.Count) }),
	byWait("wait_seconds_total", "Time that callers spent in those waits, summed over callers.",
		func(w engine.WaitStats) float64 { return w.Time.Seconds() }),
	seconds("waiting_seconds_total", "Time during which at least one caller waited.",
		func(s *engine.Stats) time.Duration { return s.Waited }),
	counter("requests_total", "Nonblocking operations that were not complete at once; of short ones an estimate from one in 512.",
		func(s *engine.Stats) uint64 { return s.Flights.Count }),
	seconds("request_seconds_total", "Time from the post of those operations to completion, summed over operations; estimated likewise.",
		func(s *engine.Stats) time.Duration { return s.Flights.Flight }),
	seconds("request_hidden_seconds_total", "The part of that time during which no caller of the rank waited: divided by the whole it is the overlap ratio.",
		func(s *engine.Stats) time.Duration { return s.Flights.Hidden }),

	// Progress.
	times("progress_gap_seconds", "From the moment that what makes progress, asleep, was notified of something to do until it ran.",
		func(s *engine.Stats) *engine.TimeHistogram { return &s.Gaps }),
	seconds("worker_cpu_seconds_total", "Processor time of the worker's thread.",
		func(s *engine.Stats) time.Duration { return s.Worker }),
	counter("driver_turns_total", "Rounds of the driver, whichever goroutine held the progress right.",
		func(s *engine.Stats) uint64 { return s.Turns }),
	counter("caller_turns_total", "Times a blocked caller took the progress right to drive for itself.",
		func(s *engine.Stats) uint64 { return s.CallerTurns }),
	counter("wakes_total", "Times that a call woke the sleeping worker, or a caller that sleeps in the poller.",
		func(s *engine.Stats) uint64 { return s.Wakes }),
	pair(prometheus.CounterValue, "driver_sleeps_total", "Sleeps until something arrives, that kept the processor of the Go scheduler, for quick reaction, and that released it.",
		"processor", [...]string{"kept", "released"}, func(s *engine.Stats) (uint64, uint64) { return s.WaitsHolding, s.WaitsBlocking }),

	// Sockets.
	counter("socket_reads_total", "System calls that read from sockets.",
		func(s *engine.Stats) uint64 { return s.Reads }),
	counter("socket_writes_total", "System calls that write to sockets.",
		func(s *engine.Stats) uint64 { return s.Writes }),
	counter("socket_read_bytes_total", "Bytes read from sockets, headers included.",
		func(s *engine.Stats) uint64 { return s.BytesIn }),
	counter("socket_written_bytes_total", "Bytes of frames written to sockets, headers included.",
		func(s *engine.Stats) uint64 { return s.BytesOut }),

	// Ranks of this host.
	gauge("lanes", "Ranks of this host with which memory is shared and in use.",
		func(s *engine.Stats) int { return s.Lanes }),
	counter("ring_read_bytes_total", "Bytes read from memory shared with ranks of this host, headers included.",
		func(s *engine.Stats) uint64 { return s.RingIn }),
	counter("ring_written_bytes_total", "Bytes written to memory shared with ranks of this host, headers included.",
		func(s *engine.Stats) uint64 { return s.RingOut }),
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
	counter("failed_dials_total", "Connections begun that came to nothing; mostly another route or another try follows.",
		func(s *engine.Stats) uint64 { return s.FailedDials }),
	counter("reconnects_total", "Connections that went on with the streams of one that broke.",
		func(s *engine.Stats) uint64 { return s.Reconnects }),
	counter("resent_bytes_total", "Bytes of streams that went on another connection once more, because the one before broke.",
		func(s *engine.Stats) uint64 { return s.Resent }),
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
	byReason("failed_peers_by_reason_total", "Ranks found to have failed, by how that was found.",
		func(s *engine.Stats) map[string]uint64 { return s.FailedBy }),
	counter("suspicions_total", "Times a rank was found silent for too long.",
		func(s *engine.Stats) uint64 { return s.Suspicions }),
	counter("received_heartbeats_total", "Heartbeats received by connections.",
		func(s *engine.Stats) uint64 { return s.BeatsIn }),
	counter("sent_heartbeats_total", "Heartbeats sent by connections, and signs of life in shared memory.",
		func(s *engine.Stats) uint64 { return s.BeatsOut }),
}

// sentBytes is the payload of all messages posted.
func sentBytes(s *engine.Stats) float64 {
	n := s.Self.Bytes
	for i := range s.Ways {
		for _, t := range s.Ways[i].Sent {
			n += t.Bytes
		}
	}
	return float64(n)
}
