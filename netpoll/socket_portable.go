//go:build !linux || fitmpi_portable

package netpoll

import (
	"errors"
	"net/netip"
	"os"
	"time"
)

// There are no sockets and no bells here: what would make one fails, so no method of one is ever
// called but to be refused.

// errNoSockets says why.
var errNoSockets = errors.New("FitMPI reaches other processes on Linux only: here the ranks of a job are threads of one process (FITMPI_RANKS, mpi.RunThreads)")

// ErrAgain says that the call would block. No call here does.
var ErrAgain = errors.New("netpoll: would block")

// IsInUse reports whether an error says that an address is taken: none here does.
func IsInUse(error) bool { return false }

// IsExhausted reports whether an error says that there are no more descriptors: none here does.
func IsExhausted(error) bool { return false }

// IsRefused reports whether an error says that no process listens: none here does.
func IsRefused(error) bool { return false }

// Options are what can be asked of a new socket on Linux.
type Options struct {
	NoDelay       bool
	SendBuffer    int
	ReceiveBuffer int
	Congestion    string
	KeepAlive     bool
}

// MaxVec is the number of slices that one Readv or Writev takes.
const MaxVec = 1024

// Socket is a TCP socket, of which there are none here.
type Socket struct{}

// Dial fails: there are no sockets.
func Dial(netip.AddrPort, Options) (*Socket, error) { return nil, errNoSockets }

// Read fails.
func (s *Socket) Read([]byte) (int, error) { return 0, errNoSockets }

// Readv fails.
func (s *Socket) Readv([][]byte) (int, error) { return 0, errNoSockets }

// Write fails.
func (s *Socket) Write([]byte) (int, error) { return 0, errNoSockets }

// Writev fails.
func (s *Socket) Writev([][]byte) (int, error) { return 0, errNoSockets }

// ConnectResult fails.
func (s *Socket) ConnectResult() error { return errNoSockets }

// CloseWrite fails.
func (s *Socket) CloseWrite() error { return errNoSockets }

// LocalAddr is the zero AddrPort.
func (s *Socket) LocalAddr() netip.AddrPort { return netip.AddrPort{} }

// RemoteAddr is the zero AddrPort.
func (s *Socket) RemoteAddr() netip.AddrPort { return netip.AddrPort{} }

// Guard reports that the system guards nothing.
func (s *Socket) Guard(time.Duration) bool { return false }

// Unanswered is 0: nothing is known.
func (s *Socket) Unanswered() time.Duration { return 0 }

// Close has nothing to close.
func (s *Socket) Close() error { return nil }

// Listener accepts connections, of which there are none here.
type Listener struct{}

// Listen fails: there are no sockets.
func Listen(netip.AddrPort, int) (*Listener, error) { return nil, errNoSockets }

// Accept fails.
func (l *Listener) Accept(Options) (*Socket, error) { return nil, errNoSockets }

// Addr is the zero AddrPort.
func (l *Listener) Addr() netip.AddrPort { return netip.AddrPort{} }

// Close has nothing to close.
func (l *Listener) Close() error { return nil }

// Bell wakes another process, which only Linux lets ours do.
type Bell struct{}

// NewBell fails: other processes ring none.
func NewBell(*os.File) (*Bell, error) { return nil, errNoSockets }

// Ring fails.
func (b *Bell) Ring() error { return errNoSockets }

// Silence fails.
func (b *Bell) Silence() error { return errNoSockets }

// Close has nothing to close.
func (b *Bell) Close() error { return nil }
