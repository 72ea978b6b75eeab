// Package gateway joins domains of hosts that cannot reach each other directly, because one of them
// is behind a NAT or a firewall. It is PMPI's platform interface portal: ranks of all domains are
// one job, and no program changes.
//
// Each domain has a gateway (fitrun gateway), a process on a host that ranks of the domain can
// reach. A rank that wants one of another domain connects to the gateway of its own and says which
// (package relay); the gateway finds a way to that domain, and passes bytes on in both directions.
// The ranks then greet each other as they would directly, and prove that they are of one job: a
// gateway learns nothing that would let it take a rank's place.
//
//	rank of west --> gateway of west ==TLS== gateway of east --> rank of east
//
// # Links
//
// Of two gateways one dials the other (--peer) and keeps a link to it; so it suffices that one of
// them can be dialled, and two that are both behind a NAT may link to a third. A link carries
// requests only. For each connection between ranks there is a connection of its own between the
// gateways, which the one that can dial dials. If it is the other that needs it, that one asks for
// it over the link ("open") and is called back ("stream"). A gateway that knows no link to a domain
// passes the request to those that it has dialled itself, at most [maxHops] times. A domain may
// have several gateways: one is dialled in the order of Config.Peers, or else asked over its newest
// link, and the others serve when that link ends.
//
// # Messages
//
// Gateways know one secret and speak over package secure, so what they say is encrypted and comes
// from a peer that knows the secret. A message is a JSON object on one line of at most 16 KiB. The
// gateway that dials speaks first:
//
//	{"type":"link","domain":"east"}                      this is a link; answered by {"type":"linked","domain":"west"}
//	{"type":"connect","line":"FITMPI-RELAY ...","hops":3}  answered by {"type":"connected"}; then the bytes of the ranks
//	{"type":"stream","id":"..."}                         the answer to an open; then the bytes of the ranks
//
// Over a link, both ways {"type":"ping"}, and from the one that was dialled:
//
//	{"type":"open","id":"...","line":"FITMPI-RELAY ...","hops":3}   answered by a stream of that id, or {"type":"failed","id":"...","reason":"..."}
//
// Any answer may be {"type":"failed","reason":"..."}.
//
// # Which requests are served
//
// Every request carries a MAC by the key of its job, which follows from the secret of the gateways
// ([relay.JobKey]). Only fitrun, which knows the secret, can have made the key. Each gateway on the
// way verifies the MAC, and takes no request twice. A process that has a job's key may have a
// gateway dial any address of its domain that Config.Allow permits.
package gateway
