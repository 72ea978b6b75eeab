//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi"
)

// sharedMemory is what the engines of ranks 0 and 1 share beside the job, in the place of what the
// launcher hands to the job's: a segment, and the bell of each.
type sharedMemory struct {
	segment *shm.Segment // closed after the engine
	bells   [2]*os.File  // by rank
}

// introduction is how long the ranks wait for each other at the socket that the files go through.
const introduction = 10 * time.Second

// shareMemory makes a segment and bells that ranks 0 and 1 both have. The files go through a socket
// in a directory of this user's, of which rank 0 tells rank 1 over the job.
func shareMemory(e *env) (m *sharedMemory, err error) {
	m = &sharedMemory{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("shared memory beside the job: %w", err), m.close())
			m = nil
		}
	}()
	if m.bells[e.rank], err = sys.NewEventFD(); err != nil {
		return m, err
	}
	if e.rank == 0 {
		return m, m.offer(e)
	}
	return m, m.accept(e)
}

// offer makes the segment and gives rank 1 that and the bell of rank 0; it gets the other bell.
func (m *sharedMemory) offer(e *env) error {
	segment, err := shm.Create(2)
	if err != nil {
		return err
	}
	defer segment.Close()
	if m.segment, err = shm.Open(segment); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fitbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "socket")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := errors.Join(l.SetDeadline(time.Now().Add(introduction)), mpi.SendValue(e.world, path, 1, resultTag)); err != nil {
		return err
	}
	conn, err := l.AcceptUnix()
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := sendFiles(conn, segment, m.bells[0]); err != nil {
		return err
	}
	files, err := recvFiles(conn, 1)
	if err == nil {
		m.bells[1] = files[0]
	}
	return err
}

// accept is the part of rank 1 in offer.
func (m *sharedMemory) accept(e *env) error {
	path, _, err := mpi.RecvValue[string](e.world, 0, resultTag)
	if err != nil {
		return err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := sendFiles(conn, m.bells[1]); err != nil {
		return err
	}
	files, err := recvFiles(conn, 2)
	if err != nil {
		return err
	}
	defer files[0].Close()
	m.bells[0] = files[1]
	m.segment, err = shm.Open(files[0])
	return err
}

// sendFiles hands files to the process at the other end.
func sendFiles(conn *net.UnixConn, files ...*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if err := conn.SetDeadline(time.Now().Add(introduction)); err != nil {
		return err
	}
	_, _, err := conn.WriteMsgUnix([]byte{0}, syscall.UnixRights(fds...), nil)
	return err
}

// recvFiles gets n files from there.
func recvFiles(conn *net.UnixConn, n int) (files []*os.File, err error) {
	control := make([]byte, syscall.CmsgSpace(4*n))
	if err := conn.SetDeadline(time.Now().Add(introduction)); err != nil {
		return nil, err
	}
	_, got, _, _, err := conn.ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(control[:got])
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "shared"))
		}
		if err != nil {
			return nil, errors.Join(err, closeFiles(files))
		}
	}
	if len(files) != n {
		return nil, errors.Join(fmt.Errorf("%d files came, want %d", len(files), n), closeFiles(files))
	}
	return files, nil
}

func closeFiles(files []*os.File) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// configure puts m into the configuration of this rank's engine. No bell is asked for: ring gives
// the engine the other one at once.
func (m *sharedMemory) configure(e *env, cfg *engine.Config) error {
	cfg.Segment, cfg.Bell, cfg.AskBell = m.segment, m.bells[e.rank], func(int) {}
	if s := os.Getenv("FITMPI_SHM_COPY"); s != "" {
		copying, ok := engine.ParseCopying(s)
		if !ok {
			return fmt.Errorf("FITMPI_SHM_COPY=%s: choose auto, ring or read", s)
		}
		cfg.Copy = copying
	}
	return nil
}

// ring gives the engine, which has started, the bell of the other rank.
func (m *sharedMemory) ring(e *env, eng *engine.Engine) error {
	return eng.SetBell(1-e.rank, m.bells[1-e.rank])
}

// close gives everything back; the engine is closed by then. m may be nil.
func (m *sharedMemory) close() (err error) {
	if m == nil {
		return nil
	}
	for _, f := range m.bells {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if m.segment != nil {
		err = errors.Join(err, m.segment.Close())
	}
	return err
}
