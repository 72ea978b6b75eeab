//go:build linux

package agent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// Prepare makes the programs of the job be on each host, by copying where they are not. want is by
// host; a Program's file is that of files, by its hash. The result is by host.
func (f *Fleet) Prepare(ctx context.Context, want map[int][]Program, files map[string]string) (map[int][]Found, error) {
	for host, programs := range want {
		if len(programs) > maxPrograms {
			return nil, &HostError{f.clients[host].String(), fmt.Sprintf("%d programs of the job are to run there; at most %d can", len(programs), maxPrograms)}
		}
		f.root.down(pack(kindPrepare, host, prepare{programs}), true)
	}
	found := make(map[int][]Found)
	for len(found) < len(want) {
		fr, c, err := f.next(ctx)
		if err != nil {
			return nil, err
		}
		p, err := unpack[prepared](fr)
		if err != nil || fr.kind != kindPrepared || len(p.Programs) != len(want[c.target.Host]) {
			return nil, c.strange(fr)
		}
		for _, x := range p.Programs {
			if x.Error != "" {
				return nil, &HostError{c.String(), x.Error}
			}
		}
		found[c.target.Host] = p.Programs
	}
	return found, f.copyAll(ctx, f.copiesFor(want, found), files)
}

// next is the next frame that is not the loss of a host, which is an error.
func (f *Fleet) next(ctx context.Context) (frame, *Client, error) {
	select {
	case fr := <-f.inbox:
		c := f.clients[int(fr.host)]
		if fr.kind == kindLost {
			return fr, c, c.failure(fr)
		}
		return fr, c, nil
	case <-ctx.Done():
		return frame{}, nil, context.Cause(ctx)
	}
}

// strange is the error of a host whose frame makes no sense now.
func (c *Client) strange(f frame) error {
	return &HostError{c.String(), fmt.Sprintf("a frame of kind %d that was not asked for", f.kind)}
}

// copies is what must be copied, and where to.
type copies struct {
	wait   map[copyTo][]*Found  // copies that are not in place, each with what is to be told of it
	toward map[string][]*branch // by hash: the conversations that lead to hosts that wait for it
}

// copyTo is the copy of a file on a host.
type copyTo struct {
	host int
	sum  string
}

func (f *Fleet) copiesFor(want map[int][]Program, found map[int][]Found) copies {
	c := copies{make(map[copyTo][]*Found), make(map[string][]*branch)}
	for host, programs := range found {
		for i := range programs {
			if programs[i].Path != "" {
				continue
			}
			sum := want[host][i].Sum
			to := copyTo{host, sum}
			c.wait[to] = append(c.wait[to], &programs[i])
			for _, b := range f.root.addressees(frame{host: uint32(host)}) {
				if !slices.Contains(c.toward[sum], b) {
					c.toward[sum] = append(c.toward[sum], b)
				}
			}
		}
	}
	return c
}

// copyAll sends each file once over each conversation that leads to hosts that wait for it, and
// waits until all is in place.
func (f *Fleet) copyAll(ctx context.Context, c copies, files map[string]string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer cancel(nil)
	sending.Go(func() { // ends when all is sent, or when conversations or ctx end
		for sum, branches := range c.toward {
			if err := sendFile(ctx, files[sum], sum, branches); err != nil {
				cancel(err)
				return
			}
		}
	})
	for len(c.wait) > 0 {
		fr, from, err := f.next(ctx)
		if err != nil {
			return err
		}
		s, err := unpack[stored](fr)
		to := copyTo{int(fr.host), s.Sum}
		switch {
		case err != nil || fr.kind != kindStored || c.wait[to] == nil:
			return from.strange(fr)
		case s.Error != "":
			return &HostError{from.String(), s.Error}
		}
		for _, x := range c.wait[to] {
			x.Path = s.Path
		}
		delete(c.wait, to)
	}
	return nil
}

// sendFile sends a file to all hosts of some branches; those that need it take it.
func sendFile(ctx context.Context, path, sum string, branches []*branch) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	key, err := hex.DecodeString(sum)
	if err != nil || len(key) != sumSize {
		panic("agent: bug: a file with the hash " + sum)
	}
	for {
		piece := make([]byte, sumSize+256<<10)
		n, err := io.ReadFull(f, piece[copy(piece, key):])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		for _, b := range branches {
			b.conn.push(frame{kindFile, everyHost, piece[:sumSize+n]})
		}
		if n == 0 {
			return nil
		}
	}
}
