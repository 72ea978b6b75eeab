//go:build linux

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi"
)

// rawEnd is the end of ranks 0 and 1 of a connection of their own: an engine in this
// process beside that of the job, without package mpi above it. Placement, transport
// and parameters are those of the job, so what differs is the interface.
type rawEnd struct {
	engine *engine.Engine
	memory *sharedMemory // nil: they share none
	peer   engine.PeerID
	out    engine.MSO
	in     engine.MSO
}

// openRaw makes the engines of ranks 0 and 1, which must both call it; the ranks tell
// each other the addresses over the job.
func openRaw(e *env, policy engine.Policy, hasCore bool) (*rawEnd, error) {
	cfg, err := rawConfig(e, policy, hasCore)
	if err != nil {
		return nil, err
	}
	way := engine.TCP
	var memory *sharedMemory
	switch e.world.Transport(1 - e.rank) {
	case engine.Thread.String():
		way = engine.Thread
		if cfg.Process, err = shareProcess(e); err != nil {
			return nil, err
		}
	case engine.Shared.String():
		way = engine.Shared
		if memory, err = shareMemory(e); err != nil {
			return nil, err
		}
		if err := memory.configure(e, &cfg); err != nil {
			return nil, errors.Join(err, memory.close())
		}
	}
	eng, err := engine.Listen(cfg)
	if err != nil {
		return nil, errors.Join(err, memory.close())
	}
	err = startRaw(e, eng, way)
	if err == nil && memory != nil {
		err = memory.ring(e, eng)
	}
	if err != nil {
		return nil, errors.Join(err, eng.Kill(), memory.close())
	}
	return &rawEnd{engine: eng, memory: memory, peer: engine.PeerID(1 - e.rank)}, nil
}

// startRaw tells the other rank where eng listens, learns the same of it, and starts eng.
func startRaw(e *env, eng *engine.Engine, way engine.Way) error {
	mine, theirs := []string{eng.Addr().String()}, make([]string, 1)
	if _, err := mpi.Sendrecv(e.world, mine, 1-e.rank, resultTag, theirs, 1-e.rank, resultTag); err != nil {
		return err
	}
	addr, err := netip.ParseAddrPort(theirs[0])
	if err != nil {
		return err
	}
	peers := make([]engine.PeerInfo, 2)
	peers[e.rank] = engine.PeerInfo{Routes: engine.Direct(eng.Addr()), Way: way, Index: e.rank}
	peers[1-e.rank] = engine.PeerInfo{Routes: engine.Direct(addr), Way: way, Index: 1 - e.rank}
	return eng.Start(peers)
}

// rawConfig is the configuration that package mpi gives the engine of the job, of which
// mpi/job_config.go is the original, but for the policy.
func rawConfig(e *env, policy engine.Policy, hasCore bool) (engine.Config, error) {
	cfg := engine.Config{Rank: e.rank, Size: 2, Index: e.rank, Progress: policy, Congestion: os.Getenv("FITMPI_CONGESTION")}
	if hasCore {
		cfg.Spin = 200 * time.Microsecond
	} else if launched() > 0 {
		cfg.Yield, cfg.Doze = 50*time.Microsecond, 2*time.Millisecond
	}
	switch launched() {
	case 0:
		cfg.KeepP = hasCore && os.Getenv("GOMAXPROCS") == ""
	case 1:
		cfg.KeepP = runtime.GOMAXPROCS(0) > max(1, len(sys.AllowedCPUs())/e.ranks)
	default:
		cfg.KeepP = hasCore && runtime.GOMAXPROCS(0) >= 2*launched()
	}
	if s := os.Getenv("FITMPI_SPIN"); s != "" {
		var err error
		cfg.Yield, cfg.Doze = 0, 0
		if cfg.Spin, err = time.ParseDuration(s); err != nil {
			return cfg, fmt.Errorf("FITMPI_SPIN: %w", err)
		}
	}
	for _, v := range e.world.Variables() {
		if v.Name != "FITMPI_MODERATION" {
			continue
		}
		var err error
		if cfg.Moderation, err = time.ParseDuration(v.Value); err != nil {
			return cfg, fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	for name, p := range map[string]*int{
		"FITMPI_SEND_BUFFER": &cfg.SendBuffer, "FITMPI_SHORT_MAX": &cfg.ShortMax, "FITMPI_EAGER_MAX": &cfg.EagerMax,
		"FITMPI_WINDOW": &cfg.Window, "FITMPI_UNEXPECTED": &cfg.Unexpected, "FITMPI_COPY_MAX": &cfg.CopyMax, "FITMPI_SOCKET_BUFFER": &cfg.SocketBuffer,
	} {
		if s := os.Getenv(name); s != "" {
			size, err := bench.ParseSizes(s)
			if err != nil || len(size) != 1 {
				return cfg, fmt.Errorf("%s=%s: need bytes such as 64K", name, s)
			}
			*p = size[0]
		}
	}
	return cfg, shareSecret(e, &cfg)
}

// shared are the registries on their way from rank 0 to rank 1, which is in the same
// process then.
var shared struct {
	mu   sync.Mutex
	last int64                     // guarded by mu: the newest ticket
	all  map[int64]*engine.Process // guarded by mu: by ticket
}

// shareProcess gives the engines of both ranks the registry that rank 0 makes: it sends
// the number under which it has left it.
func shareProcess(e *env) (*engine.Process, error) {
	var ticket [1]int64
	if e.rank == 1 {
		_, err := mpi.Recv(e.world, ticket[:], 0, resultTag)
		shared.mu.Lock()
		defer shared.mu.Unlock()
		defer delete(shared.all, ticket[0])
		return shared.all[ticket[0]], err
	}
	p := engine.NewProcess(2)
	shared.mu.Lock()
	if shared.all == nil {
		shared.all = map[int64]*engine.Process{}
	}
	shared.last++
	ticket[0] = shared.last
	shared.all[ticket[0]] = p
	shared.mu.Unlock()
	return p, mpi.Send(e.world, ticket[:], 1, resultTag)
}

// shareSecret gives both engines the same job and secret, which rank 0 makes up.
func shareSecret(e *env, cfg *engine.Config) error {
	secret := make([]byte, len(cfg.Job)+32)
	if e.rank == 0 {
		rand.Read(secret) // never fails
		if err := mpi.Send(e.world, secret, 1, resultTag); err != nil {
			return err
		}
	} else if _, err := mpi.Recv(e.world, secret, 0, resultTag); err != nil {
		return err
	}
	cfg.Secret = secret[copy(cfg.Job[:], secret):]
	return nil
}

// send is a standard send of b, as mpi.Send does it once it has a description of it.
func (r *rawEnd) send(b []byte) error {
	m := &r.out
	m.Reset()
	m.Kind, m.Peer, m.Tag, m.Buf = engine.KindSend, r.peer, dataTag, b
	r.engine.Post(m, engine.Returns)
	r.engine.Wait(m)
	return m.Err
}

// recv is a receive into b, as mpi.Recv does it.
func (r *rawEnd) recv(b []byte) error {
	m := &r.in
	m.Reset()
	m.Kind, m.Peer, m.Tag, m.Buf = engine.KindRecv, r.peer, dataTag, b
	r.engine.Post(m, engine.Waits)
	r.engine.Wait(m)
	return m.Err
}

// route is the raw path as a case of a test.
func (r *rawEnd) route(name string, size int) route {
	out, in := buffer(size), buffer(size)
	return route{
		name: name,
		send: func() error { return r.send(out) },
		recv: func() error { return r.recv(in) },
	}
}

// closeTimeout bounds how long one end waits for the other to say goodbye.
const closeTimeout = 5 * time.Second

// close ends the connection; both ranks do it at the end of their test.
func (r *rawEnd) close() error {
	err := r.engine.Close(closeTimeout)
	return errors.Join(err, r.memory.close())
}
