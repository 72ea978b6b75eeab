//go:build linux && !fitmpi_portable

package netlab

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// DNS is a server of names, by UDP and TCP, as the one of a cluster is: a name is there when it is
// published, and until then the answer is that there is none.
type DNS struct {
	addr string // of its host
	udp  net.PacketConn
	tcp  net.Listener
	wg   sync.WaitGroup // of its goroutines; stopped by closing udp, tcp and conns

	mu     sync.Mutex
	names  map[string][]netip.Addr // by the name in lower case with a dot at its end; guarded by mu
	asked  map[string]int          // questions answered and not, by the same names; guarded by mu
	silent map[string]bool         // names about which nothing is answered; guarded by mu
	conns  map[net.Conn]bool       // by TCP; guarded by mu; nil when the server is closed
}

// dnsTTL is for how long an answer is true. No host that asks here keeps answers.
const dnsTTL = 5

// DNS adds a host to the network on which a server of names runs. Hosts that are added after it ask
// this one only, by their /etc/resolv.conf. search is the domains in which they look for names, as
// in a pod: a name with fewer than five dots is looked for in each of these first.
func (n *Network) DNS(search ...string) *DNS {
	t := n.lab.t
	t.Helper()
	h := n.Bare()
	var d *DNS
	err := sys.InNetwork("/run/netns/"+h.name, func() (err error) {
		d, err = listenDNS(h.addr + ":53")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	d.addr = h.addr
	t.Cleanup(d.close)
	conf := filepath.Join(n.lab.dir, "resolv."+h.name)
	text := fmt.Sprintf("nameserver %s\nsearch %s\noptions ndots:5\n", h.addr, strings.Join(search, " "))
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(resolvConf); err != nil {
		t.Skip("hosts cannot be given a server of names: ", err)
	}
	n.over = append(n.over, overlay{conf, resolvConf})
	return d
}

const resolvConf = "/etc/resolv.conf"

// Addr is the address of its host.
func (d *DNS) Addr() string { return d.addr }

// listenDNS begins to serve names at an address.
func listenDNS(addr string) (*DNS, error) {
	d := &DNS{names: make(map[string][]netip.Addr), asked: make(map[string]int), silent: make(map[string]bool), conns: make(map[net.Conn]bool)}
	var err error
	if d.tcp, err = net.Listen("tcp", addr); err != nil {
		return nil, err
	}
	if d.udp, err = net.ListenPacket("udp", d.tcp.Addr().String()); err != nil {
		d.tcp.Close()
		return nil, err
	}
	d.wg.Go(d.serveUDP)
	d.wg.Go(d.acceptTCP)
	return d, nil
}

func (d *DNS) close() {
	d.udp.Close()
	d.tcp.Close()
	d.mu.Lock()
	for c := range d.conns {
		c.Close()
	}
	d.conns = nil
	d.mu.Unlock()
	d.wg.Wait()
}

// Publish makes a name be known, with these addresses in place of those it may have had.
func (d *DNS) Publish(t testing.TB, name string, addrs ...string) {
	t.Helper()
	var list []netip.Addr
	for _, s := range addrs {
		a, err := netip.ParseAddr(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[canonical(name)] = list
}

// Mute has the server say nothing more when it is asked about a name, as if question or answer were
// lost.
func (d *DNS) Mute(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silent[canonical(name)] = true
}

// Asked is how often the server was asked about a name.
func (d *DNS) Asked(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[canonical(name)]
}

// canonical is the form of a name in which those are equal that are the same.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) + "." }

func (d *DNS) serveUDP() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := d.udp.ReadFrom(b)
		if err != nil {
			return // it is closed: a server on a host of its own hears of no errors of others
		}
		if answer := d.answer(b[:n], false); answer != nil {
			d.udp.WriteTo(answer, from)
		}
	}
}

func (d *DNS) acceptTCP() {
	for {
		c, err := d.tcp.Accept()
		if err != nil {
			return
		}
		d.wg.Go(func() { d.serveTCP(c) })
	}
}

// serveTCP answers one question after the other, each behind its length.
func (d *DNS) serveTCP(c net.Conn) {
	defer c.Close()
	d.mu.Lock()
	isOpen := d.conns != nil
	if isOpen {
		d.conns[c] = true
	}
	d.mu.Unlock()
	if !isOpen {
		return
	}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.conns, c)
	}()
	c.SetDeadline(time.Now().Add(patience))
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		answer := d.answer(question, true)
		if answer == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer is what is said to a question, nil for nothing. By UDP an answer that is too long says
// only that it is.
func (d *DNS) answer(question []byte, byTCP bool) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(question)
	if err != nil || head.Response {
		return nil
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{
		ID: head.ID, Response: true, OpCode: head.OpCode, Authoritative: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true,
	}}
	q, err := p.Question()
	if err != nil {
		m.RCode = dnsmessage.RCodeFormatError
		return packed(m)
	}
	m.Questions = []dnsmessage.Question{q}
	addrs, code, isHeard := d.look(q, head.OpCode)
	if !isHeard {
		return nil
	}
	m.RCode = code
	for _, a := range addrs {
		m.Answers = append(m.Answers, record(q.Name, a))
	}
	b := packed(m)
	if len(b) > limitOf(&p) && !byTCP {
		m.Truncated, m.Answers = true, nil
		b = packed(m)
	}
	return b
}

// look looks a question up.
func (d *DNS) look(q dnsmessage.Question, op dnsmessage.OpCode) (addrs []netip.Addr, code dnsmessage.RCode, isHeard bool) {
	name := canonical(q.Name.String())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[name]++
	if d.silent[name] {
		return nil, 0, false
	}
	all, isKnown := d.names[name]
	switch {
	case op != 0 || q.Class != dnsmessage.ClassINET:
		return nil, dnsmessage.RCodeNotImplemented, true
	case !isKnown:
		return nil, dnsmessage.RCodeNameError, true
	}
	for _, a := range all {
		if q.Type == dnsmessage.TypeA && a.Is4() || q.Type == dnsmessage.TypeAAAA && a.Is6() {
			addrs = append(addrs, a)
		}
	}
	return addrs, dnsmessage.RCodeSuccess, true // also without any: the name is there, what was asked for is not
}

// record is an address of a name.
func record(name dnsmessage.Name, a netip.Addr) dnsmessage.Resource {
	r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: dnsTTL}}
	if a.Is4() {
		r.Body = &dnsmessage.AResource{A: a.As4()}
	} else {
		r.Body = &dnsmessage.AAAAResource{AAAA: a.As16()}
	}
	return r
}

// limitOf is how long an answer by UDP may be: 512 bytes, unless the query says more (RFC 6891).
// The parser is behind the first question.
func limitOf(p *dnsmessage.Parser) int {
	const least = 512
	for _, skip := range []func() error{p.SkipAllQuestions, p.SkipAllAnswers, p.SkipAllAuthorities} {
		if skip() != nil {
			return least
		}
	}
	for {
		h, err := p.AdditionalHeader()
		if err != nil {
			return least
		}
		if h.Type == dnsmessage.TypeOPT {
			return max(least, int(h.Class))
		}
		if p.SkipAdditional() != nil {
			return least
		}
	}
}

// packed is a message of ours as it is sent: it can always be.
func packed(m dnsmessage.Message) []byte {
	b, err := m.Pack()
	if err != nil {
		panic(fmt.Sprintf("netlab: an answer of ours cannot be packed: %v", err))
	}
	return b
}
