// Package netif chooses where a rank listens: which of its host's addresses others may reach it at,
// in which order they should try them, and which ports are open to it.
//
// A choice is what the user said, as a list of interfaces, addresses and networks ([ParseChoice]),
// and [Choice.Pick] applies it to the interfaces of a host, which [Interfaces] reads. Without a
// choice all addresses of interfaces that are up count. Those of real interfaces come first, then
// those of bridges that programs make for containers and virtual machines, which often have the
// same address on every host. The loopback addresses count if there is nothing else. Link-local
// addresses of IPv6 mean nothing without an interface, so they count only where the user names
// them.
//
// All but [Interfaces] and [Local] is pure.
package netif
