// Package agent is ranks on other hosts: how a host is reached, what fitrun says to it, and the
// process that leads a crew there.
//
//	way.go, reach.go         the command that reaches a host, and how fitrun's binary gets there
//	listen.go                hosts that are reached without such a command
//	tree.go                  hosts reached through others
//	frame.go, message.go     the protocol, which docs/PROTOCOL.md describes
//	conn.go, flow.go         a conversation; streams, with credit
//	fleet.go, client.go      [Fleet], fitrun's view of all hosts, and [Client], that of the crew on one
//	prepare.go               programs copied to hosts that do not have them
//	serve.go, serve_*.go     [Serve], the agent: what it is told, its programs, its crew
//	facts.go, cache.go       what a host is, and the programs that it was sent
//
// # Concurrency
//
// Each conversation has a reader, a writer and a watch. Readers handle frames and may call a leader
// or queue frames for others. None of them waits for a reader of output, as the credit of a stream
// bounds what is under way. So a frame is never stuck behind output. A reader may wait for room
// toward the hosts below it, never toward those above: so no two wait for each other.
//
// # The end
//
// An agent ends everything when its input ends, whatever the reason. The command that reaches a
// host dies with the process that started it, and its end is the end of the agent's input; where
// the network is gone, each side finds out by the other's silence.
package agent
