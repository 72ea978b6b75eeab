package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// errExchanged is a second Exchange.
var errExchanged = errors.New("boot: Exchange was called twice; a session exchanges cards once")

// single is the session of a job of one rank, with or without a launcher that says so.
type single struct {
	// immutable after newSingle
	info Info
	say  io.Writer // what a launcher would say is said there

	exchanged atomic.Bool
	events    chan Event // never sent to
	closeOnce sync.Once
}

func newSingle(source string) *single {
	job, secret := NewJob()
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return &single{
		say: os.Stderr,
		info: Info{
			Size: 1, LocalSize: 1, Job: job, Secret: secret, Source: source, Host: host, Cores: runtime.NumCPU(),
			ProcessRanks: 1,
		},
		events: make(chan Event),
	}
}

func (s *single) Info() Info { return s.info }

func (s *single) Exchange(ctx context.Context, card []byte) ([][]byte, error) {
	if err := checkCard(card); err != nil {
		return nil, err
	}
	if s.exchanged.Swap(true) {
		return nil, errExchanged
	}
	return [][]byte{slices.Clone(card)}, nil
}

func (s *single) Finalizing(context.Context) error { return nil }
func (s *single) Answer(int, []byte) error         { return nil }
func (s *single) Report(string, string) error      { return nil }
func (s *single) Events() <-chan Event             { return s.events }
func (s *single) Bell(int, func(*os.File)) error   { return errNoBell }

// Abort shows the message here: a job of one rank has no launcher, or one that takes no messages.
func (s *single) Abort(code int, text string) error {
	_, err := fmt.Fprintf(s.say, "fitmpi: %s\n", abortText(s.info.Rank, os.Getpid(), s.info.Host, code, text))
	return err
}

// abortText says which rank has ended the job, and why.
func abortText(rank, pid int, host string, code int, text string) string {
	s := fmt.Sprintf("rank %d (pid %d on %s) aborted the job with code %d", rank, pid, host, code)
	if text = strings.TrimRight(clip(text, maxText), "\n"); text != "" {
		s += ": " + text
	}
	return s
}

func (s *single) Close() error {
	s.closeOnce.Do(func() { close(s.events) })
	return nil
}
