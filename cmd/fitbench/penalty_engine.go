//go:build linux

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi"
)

// rawEnd is the end of ranks 0 and 1 of a connection of their own: an engine in this
// process beside that of the job, without package mpi above it. Placement, transport
// and parameters are those of the job, so what differs is the interface.
type rawEnd struct {
	engine *engine.Engine
	peer   engine.PeerID
	out    engine.MSO
	in     engine.MSO
}

// openRaw makes the engines of ranks 0 and 1, which must both call it; the ranks tell
// each other the addresses over the job.
func openRaw(e *env, policy engine.Policy) (*rawEnd, error) {
	cfg, err := rawConfig(e, policy)
	if err != nil {
		return nil, err
	}
	eng, err := engine.Listen(cfg)
	if err != nil {
		return nil, err
	}
	if err := startRaw(e, eng); err != nil {
		return nil, errors.Join(err, eng.Kill())
	}
	return &rawEnd{engine: eng, peer: engine.PeerID(1 - e.rank)}, nil
}

// startRaw tells the other rank where eng listens, learns the same of it, and starts eng.
func startRaw(e *env, eng *engine.Engine) error {
	mine, theirs := []string{eng.Addr().String()}, make([]string, 1)
	if _, err := mpi.Sendrecv(e.world, mine, 1-e.rank, resultTag, theirs, 1-e.rank, resultTag); err != nil {
		return err
	}
	addr, err := netip.ParseAddrPort(theirs[0])
	if err != nil {
		return err
	}
	peers := make([]engine.PeerInfo, 2)
	peers[e.rank], peers[1-e.rank] = engine.PeerInfo{Addr: eng.Addr()}, engine.PeerInfo{Addr: addr}
	return eng.Start(peers)
}

// rawConfig is the configuration that package mpi gives the engine of the job, of which
// mpi/config.go is the original, but for the policy.
func rawConfig(e *env, policy engine.Policy) (engine.Config, error) {
	cfg := engine.Config{Rank: e.rank, Size: 2, Progress: policy, Congestion: os.Getenv("FITMPI_CONGESTION")}
	if e.ranks <= runtime.NumCPU() {
		cfg.Spin = 200 * time.Microsecond
	}
	if launched() {
		cfg.KeepP = runtime.GOMAXPROCS(0) > max(1, len(sys.AllowedCPUs())/e.ranks)
	} else {
		cfg.KeepP = os.Getenv("GOMAXPROCS") == ""
	}
	if s := os.Getenv("FITMPI_SPIN"); s != "" {
		var err error
		if cfg.Spin, err = time.ParseDuration(s); err != nil {
			return cfg, fmt.Errorf("FITMPI_SPIN: %w", err)
		}
	}
	for name, p := range map[string]*int{
		"FITMPI_SEND_BUFFER": &cfg.SendBuffer, "FITMPI_SHORT_MAX": &cfg.ShortMax, "FITMPI_EAGER_MAX": &cfg.EagerMax,
		"FITMPI_WINDOW": &cfg.Window, "FITMPI_COPY_MAX": &cfg.CopyMax, "FITMPI_SOCKET_BUFFER": &cfg.SocketBuffer,
	} {
		if s := os.Getenv(name); s != "" {
			size, err := parseSizes(s)
			if err != nil || len(size) != 1 {
				return cfg, fmt.Errorf("%s=%s: need bytes such as 64K", name, s)
			}
			*p = size[0]
		}
	}
	return cfg, shareSecret(e, &cfg)
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
	posted, err := r.engine.Send(m)
	if posted {
		r.engine.Wait(m)
		return m.Err
	}
	return err
}

// recv is a receive into b, as mpi.Recv does it.
func (r *rawEnd) recv(b []byte) error {
	m := &r.in
	m.Reset()
	m.Kind, m.Peer, m.Tag, m.Buf = engine.KindRecv, r.peer, dataTag, b
	r.engine.PostBlocking(m)
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
func (r *rawEnd) close() error { return r.engine.Close(closeTimeout) }
