package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/relay"
	"github.com/fitmpi/fitmpi/internal/secure"
	"github.com/fitmpi/fitmpi/internal/strangers/strangerstest"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failsafe ends a test that hangs; no test waits for it to pass.
const failsafe = 30 * time.Second

var (
	secret   = []byte("of the gateways of this test, long enough")
	loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	job      = [16]byte{1, 2, 3}
)

// running is a gateway that serves a loopback port.
type running struct {
	*Gateway
	addr string
	log  *logged
}

// logged collects what a gateway logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until the log holds text.
func (l *logged) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(failsafe); !strings.Contains(l.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log never said %q; it says:\n%s", text, l.String())
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run starts a gateway of domain that dials peers. It ends with the test.
func run(t *testing.T, cfg Config) running {
	t.Helper()
	log := new(logged)
	if cfg.Secret == nil {
		cfg.Secret = secret
	}
	if cfg.Allow == nil {
		cfg.Allow = loopback
	}
	cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return running{g, l.Addr().String(), log}
}

// rank listens as a rank does: it answers what it hears with a greeting and an echo, until the
// other end has finished.
func rank(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	l := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(failsafe))
				fmt.Fprintf(conn, "%s hears: ", name)
				io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return netip.MustParseAddrPort(l.Addr().String())
}

// through says text to the rank at target, through the gateway at addr, and returns the answer. The
// end of what it says is passed on by itself, and the answer's end comes back.
func through(addr, domain string, target netip.AddrPort, text string) (string, error) {
	return throughAs(addr, relay.NewRequest(job, domain, []netip.AddrPort{target}, time.Now()), relay.JobKey(secret, job), text)
}

func throughAs(addr string, req *relay.Request, key []byte, text string) (string, error) {
	return say(addr, string(relay.AppendRequest(nil, req, key))+text)
}

// say says all of text to addr, and returns all of the answer.
func say(addr, text string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(failsafe))
	if _, err := io.WriteString(conn, text); err != nil {
		return "", err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

func want(t *testing.T, addr, domain string, target netip.AddrPort, text, answer string) {
	t.Helper()
	if got, err := through(addr, domain, target, text); err != nil || got != answer {
		t.Errorf("%.60q, %v; want %.60q", got, err, answer)
	}
}

func TestTwoDomains(t *testing.T) {
	west := run(t, Config{Domain: "west"})
	east := run(t, Config{Domain: "east", Peers: []string{west.addr}}) // the one behind the NAT
	east.log.await(t, "linked")
	west.log.await(t, "linked")
	w, e := rank(t, "west"), rank(t, "east")
	want(t, west.addr, "east", e, "hello", "east hears: hello") // east is asked to call back
	want(t, east.addr, "west", w, "hello", "west hears: hello") // east dials
	want(t, west.addr, "west", w, "hello", "west hears: hello") // as a rank of east that reaches west's gateway itself
	long := strings.Repeat("0123456789abcdef", 1<<16)
	want(t, west.addr, "east", e, long, "east hears: "+long)
	want(t, east.addr, "west", w, long, "west hears: "+long)
}

func TestHub(t *testing.T) {
	hub := run(t, Config{Domain: "hub"})
	west := run(t, Config{Domain: "west", Peers: []string{hub.addr}})
	east := run(t, Config{Domain: "east", Peers: []string{hub.addr}})
	hub.log.await(t, "domain=west")
	hub.log.await(t, "domain=east")
	west.log.await(t, "linked")
	east.log.await(t, "linked")
	want(t, west.addr, "east", rank(t, "east"), "hi", "east hears: hi")
	want(t, east.addr, "west", rank(t, "west"), "hi", "west hears: hi")
}

// TestMany relays many connections side by side, in both directions.
func TestMany(t *testing.T) {
	west := run(t, Config{Domain: "west"})
	east := run(t, Config{Domain: "east", Peers: []string{west.addr}})
	east.log.await(t, "linked")
	w, e := rank(t, "west"), rank(t, "east")
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			text := strings.Repeat(fmt.Sprint(i), 10_000)
			want(t, west.addr, "east", e, text, "east hears: "+text)
			want(t, east.addr, "west", w, text, "west hears: "+text)
		})
	}
	wg.Wait()
}

func TestLinkComesBack(t *testing.T) {
	west := run(t, Config{Domain: "west"})
	east := run(t, Config{Domain: "east", Peers: []string{west.addr}})
	east.log.await(t, "linked")
	west.log.await(t, "linked")
	west.mu.Lock()
	west.callers["east"][0].peer.Close()
	west.mu.Unlock()
	west.log.await(t, "the link to domain east ended")
	e := rank(t, "east")
	for end := time.Now().Add(failsafe); ; {
		got, err := through(west.addr, "east", e, "again")
		if err == nil && got == "east hears: again" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%q, %v\n%s", got, err, west.log)
		}
	}
}

func TestSilentLinkIsLost(t *testing.T) {
	west := run(t, Config{Domain: "west", Ping: 10 * time.Millisecond})
	raw, err := net.Dial("tcp", west.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	peer := asGateway(t, raw, secret)
	if err := peer.send(message{Type: typeLink, Domain: "east"}, time.Now().Add(failsafe)); err != nil {
		t.Fatal(err)
	}
	west.log.await(t, "nothing came for 30ms")
}

// TestRefuses: which requests are refused, what is said of each, and that no rank is dialled for
// it.
func TestRefuses(t *testing.T) {
	west := run(t, Config{Domain: "west", Patience: 2 * time.Second})
	east := run(t, Config{Domain: "east", Peers: []string{west.addr}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	east.log.await(t, "linked")
	west.log.await(t, "linked")
	e := rank(t, "east")
	good := func() *relay.Request { return relay.NewRequest(job, "east", []netip.AddrPort{e}, time.Now()) }
	used := good()
	if got, err := throughAs(west.addr, used, relay.JobKey(secret, job), "x"); got != "east hears: x" {
		t.Fatal(got, err)
	}
	for _, c := range []struct {
		name string
		addr string
		req  *relay.Request
		key  []byte
		want string
	}{
		{"another key", west.addr, good(), relay.JobKey([]byte("another secret, as long"), job), notProved},
		{"another job's key", west.addr, good(), relay.JobKey(secret, [16]byte{9}), notProved},
		{"a recording", west.addr, used, relay.JobKey(secret, job), "relay: the request was made before: it is a recording"},
		{"long ago", west.addr, relay.NewRequest(job, "east", []netip.AddrPort{e}, time.Unix(0, 0)), relay.JobKey(secret, job),
			"relay: the request is N s old: the clocks of the two hosts may differ by 5m0s, so set them"},
		{"unknown domain", west.addr, relay.NewRequest(job, "north", []netip.AddrPort{e}, time.Now()), relay.JobKey(secret, job), "no gateway of domain north has a link to this one, of west"},
		{"passed on in vain", east.addr, relay.NewRequest(job, "north", []netip.AddrPort{e}, time.Now()), relay.JobKey(secret, job),
			"no gateway of domain north has a link to this one, of east; by " + west.addr + ": gateway " + west.addr + ": no gateway of domain north has a link to this one, of west"},
		{"forbidden target", west.addr, relay.NewRequest(job, "east", []netip.AddrPort{netip.MustParseAddrPort("127.0.0.2:9")}, time.Now()), relay.JobKey(secret, job),
			"no address of the rank answers: 127.0.0.2:9: this gateway does not dial it; its --allow says what it does"},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := relay.AppendRequest(nil, c.req, c.key)
			got, err := say(c.addr, string(line)+"and what a rank says meanwhile")
			r, _ := relay.ReadRefusal([]byte(got), line, c.key)
			reason := regexp.MustCompile(`\d{6,}`).ReplaceAllString(r.Reason, "N") // an age
			if err != nil || reason != c.want || r.Proved != bytes.Equal(c.key, relay.JobKey(secret, job)) {
				t.Errorf("it answers %q, %v", got, err)
			}
			log := west.log
			if c.addr == east.addr {
				log = east.log
			}
			log.await(t, "err="+strconv.Quote(r.Reason))
		})
	}
}

// TestStreamDoesNotCome: the gateway that was asked to call back does not.
func TestStreamDoesNotCome(t *testing.T) {
	west := run(t, Config{Domain: "west"})
	raw, err := net.Dial("tcp", west.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	peer := asGateway(t, raw, secret)
	if err := peer.send(message{Type: typeLink, Domain: "east"}, time.Now().Add(failsafe)); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.await(typeLinked, time.Now().Add(failsafe)); err != nil {
		t.Fatal(err)
	}
	west.awaitState(t, func() bool { return len(west.callers["east"]) == 1 })
	_, caller := west.neighbour("east")
	west.cfg.Patience = time.Millisecond // which only the next call reads
	if _, err := west.ask(caller, request{}); err == nil || err.Error() != "no stream came within 1ms" {
		t.Errorf("%v", err)
	}
}

const notProved = "relay: the request is not proved by the key of its job: give fitrun and all gateways the same --secret-file"

func TestRefusesStrangers(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	west := run(t, Config{Domain: "west", Patience: 2 * time.Second})
	for _, c := range []struct{ say, want string }{
		{"GET / HTTP/1.1\r\n\r\n", `err="relay: this is no request to a gateway"`},
		{strings.Repeat("x", maxMessage+1), `err="a first line of no end; this is neither a rank nor a gateway"`},
		{"", "i/o timeout"},
		{"FITMPI-RELAY 1 half a line", `err="waiting for its request: read tcp `},
		{"FITMPI-RELAY 2 \n", `err="relay: a request of version \"2\", want \"1\": use ranks and gateways of one FitMPI version"`},
		{"\x16\x03\x01 no TLS at all", "secure: "},
	} {
		conn, err := net.Dial("tcp", west.addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(failsafe))
		conn.Write([]byte(c.say))
		if c.say == "\x16\x03\x01 no TLS at all" {
			conn.(*net.TCPConn).CloseWrite()
		}
		if got, _ := io.ReadAll(conn); strings.Contains(string(got), "FITMPI") { // ends: it is hung up on us
			t.Errorf("a stranger is told %q", got)
		}
		conn.Close()
		west.log.await(t, c.want)
	}
}

// TestStrangersKeepNobodyOut: connections that prove nothing take no room from those that do, and
// the oldest give way.
func TestStrangersKeepNobodyOut(t *testing.T) {
	const streams = 2
	west := run(t, Config{Domain: "west", Streams: streams, Patience: failsafe})
	w := rank(t, "west")
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", west.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(failsafe))
		return conn
	}
	oldest := dial()
	for range maxStrangersPerHost {
		dial()
	}
	if n, err := oldest.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the oldest stranger is still there: %v", err)
	}
	var served []net.Conn // in spite of the others; what is served is still bounded
	for range streams + 1 {
		conn := dial()
		req := relay.NewRequest(job, "west", []netip.AddrPort{w}, time.Now())
		conn.Write(relay.AppendRequest(nil, req, relay.JobKey(secret, job)))
		if len(served) < streams {
			if _, err := io.ReadFull(conn, make([]byte, len("west hears: "))); err != nil {
				t.Fatal(err)
			}
		} else {
			conn.(*net.TCPConn).CloseWrite()
			if got, _ := io.ReadAll(conn); !strings.HasSuffix(string(got), " too many connections: 2 are served; --max-streams raises that\n") {
				t.Errorf("beyond the limit it says %q", got)
			}
		}
		served = append(served, conn)
	}
	west.log.await(t, "too many connections: 2 are served")
}

func TestGatewaysOfAnotherSecret(t *testing.T) {
	west := run(t, Config{Domain: "west"})
	east := run(t, Config{Domain: "east", Peers: []string{west.addr}, Secret: []byte("quite another secret, which is as long")})
	east.log.await(t, "no link")
	west.log.await(t, "the other end has another secret")
	same := run(t, Config{Domain: "west", Peers: []string{west.addr}})
	same.log.await(t, "a link joins two domains")
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Secret: secret}, `domain "": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{Config{Domain: "a b", Secret: secret}, `domain "a b": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{Config{Domain: "a", Secret: []byte("short")}, "a secret of 5 bytes: need 32 random bytes or more"},
	} {
		if _, err := New(c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// asGateway is the other end of a gateway's connection, for tests that misbehave.
func asGateway(t *testing.T, raw net.Conn, secret []byte) *stream {
	t.Helper()
	conn, err := secure.Client(raw, secret, role)
	if err != nil {
		t.Fatal(err)
	}
	return newStream(conn)
}

// TestMisbehaviour: what no gateway of ours says ends the connection and nothing else.
func TestMisbehaviour(t *testing.T) {
	west := run(t, Config{Domain: "west"})
	w := rank(t, "west")
	north := strings.TrimSpace(string(relay.AppendRequest(nil, relay.NewRequest(job, "north", []netip.AddrPort{w}, time.Now()), relay.JobKey(secret, job))))
	const waiting = "waiting for what the gateway wants: "
	for _, c := range []struct {
		say  string
		want string
	}{
		{"no JSON\n", waiting + "malformed message: invalid character 'o' in literal null (expecting 'u')"},
		{`{"type":"hello"}` + "\n", `a gateway that begins with "hello"`},
		{`{"type":"stream","id":"made up"}` + "\n", "a stream that nothing waits for"},
		{`{"type":"connect","line":"nonsense"}` + "\n", "relay: this is no request to a gateway"},
		{`{"type":"connect","line":"` + north + `"}` + "\n", "domain north: passed on 4 times, and no gateway knows it"},
		{`{"type":"connect","hops":99}` + "\n", waiting + "message with 99 hops; 0 to 4 are allowed"},
		{`{"type":"connect","hops":-1}` + "\n", waiting + "message with -1 hops; 0 to 4 are allowed"},
		{`{"type":"stream","id":"` + strings.Repeat("x", 65) + `"}` + "\n", waiting + "message with a line, an id and a reason of 0, 65 and 0 bytes; at most 4096, 64 and 512 are allowed"},
		{`{"type":"failed","reason":"` + strings.Repeat("x", 513) + `"}` + "\n", waiting + "message with a line, an id and a reason of 0, 0 and 513 bytes; at most 4096, 64 and 512 are allowed"},
		{`{"type":"connect","line":"` + strings.Repeat("x", 4097) + `"}` + "\n", waiting + "message with a line, an id and a reason of 4097, 0 and 0 bytes; at most 4096, 64 and 512 are allowed"},
		{`{"type":"link","domain":"a b"}` + "\n", waiting + `message with a domain "a b": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{`{"type":"link","domain":"west"}` + "\n", `a link from domain "west" to domain "west": a link joins two domains`},
		{strings.Repeat(" ", maxMessage+1), waiting + "bufio: buffer full"},
	} {
		raw, err := net.Dial("tcp", west.addr)
		if err != nil {
			t.Fatal(err)
		}
		raw.SetDeadline(time.Now().Add(failsafe))
		peer := asGateway(t, raw, secret)
		raw.SetDeadline(time.Now().Add(failsafe))
		if _, err := peer.Write([]byte(c.say)); err != nil {
			t.Error(err)
		}
		io.ReadAll(peer.Conn)
		raw.Close()
		west.log.await(t, "err="+strconv.Quote(c.want))
	}
	want(t, west.addr, "west", w, "still here", "west hears: still here")
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte(`{"type":"connect","line":"FITMPI-RELAY","hops":3}`))
	f.Add([]byte(`{"type":"failed","id":"x","reason":"y"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := readMessage(line)
		if err != nil {
			return
		}
		again, err := readMessage(bytes.TrimSuffix(appendMessage(nil, m), []byte("\n")))
		if err != nil || again != m {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}

// TestUnderFire: a rank gets through while all kinds of strangers come, and nothing is left of
// these.
func TestUnderFire(t *testing.T) {
	w := rank(t, "west")
	before := strangerstest.Held()
	west := run(t, Config{Domain: "west"})
	line := relay.AppendRequest(nil, relay.NewRequest(job, "west", []netip.AddrPort{w}, time.Now()), relay.JobKey([]byte("a secret that is quite another one"), job))
	if n := strangerstest.Fire(t, west.addr, 600, line); n != 600 {
		t.Errorf("%d of 600 connections could be made", n)
	}
	var flood sync.WaitGroup
	flood.Go(func() { strangerstest.Fire(t, west.addr, 600, line) })
	heard := false
	for until := time.Now().Add(time.Minute); !heard && time.Now().Before(until); { // a rank that comes at the wrong moment gives way, and tries again
		req := relay.NewRequest(job, "west", []netip.AddrPort{w}, time.Now())
		got, err := throughAs(west.addr, req, relay.JobKey(secret, job), "x")
		if heard = got == "west hears: x"; !heard && got != "" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	flood.Wait()
	if !heard {
		t.Error("strangers keep out who knows the secret")
	}
	west.Close()
	strangerstest.Same(t, before)
}
