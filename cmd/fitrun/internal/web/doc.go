// Package web is the live page of a job, which fitrun --web serves. It shows the ranks and their
// states, how much each rank sends to which others, and how long ranks compute and wait. It shows
// what is queued, which sizes messages have and what has happened.
//
// A [Server] reads cmd/fitrun/internal/view and nothing else. What it shows is a picture of the job
// (model.go, pure), of which each browser is sent what has changed since the picture that it was
// sent last (update.go), as server-sent events. A browser that reads slowly is sent fewer pictures,
// never older ones; neither the job nor other browsers wait for it.
//
// Ranks are asked for their counters only while a browser looks, once a second for all browsers
// together, less often where that would cost fitrun more than a twentieth of a core.
//
// # Access
//
// A server of the loopback interface answers every user of this machine, but no page of another
// site. Requests must name the machine itself (or a number) as their host, so that no name of a
// stranger's can be made to lead here. Any other server wants a token of 128 random bits, once in
// the address and then in a cookie. All that is served is read only, comes from this binary, and
// may load nothing from elsewhere.
package web
