package port

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// maxMessage bounds what is told at once, in bytes: the cards of some hundred thousand ranks.
const maxMessage = 64 << 20

// welcomeByte is what an accepting end says first, and the other answers.
const welcomeByte = 'W'

// welcomeTime is how long the answer may take: whatever waits at a port answers at once.
const welcomeTime = 10 * time.Second

// Link is a connection between two ranks of different jobs.
type Link struct{ conn net.Conn }

// welcome tells the other end that it is accepted, and hears that it is still there.
func (l *Link) welcome(ctx context.Context) error {
	defer l.bound(ctx)()
	if err := l.conn.SetReadDeadline(time.Now().Add(welcomeTime)); err != nil {
		return err
	}
	if _, err := l.conn.Write([]byte{welcomeByte}); err != nil {
		return err
	}
	if err := readWelcome(l.conn); err != nil {
		return err
	}
	return l.conn.SetReadDeadline(time.Time{})
}

// awaitWelcome is the other end of welcome.
func (l *Link) awaitWelcome() error {
	if err := readWelcome(l.conn); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it was closed before it accepted")
		}
		return err
	}
	_, err := l.conn.Write([]byte{welcomeByte})
	return err
}

func readWelcome(r io.Reader) error {
	var b [1]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return err
	}
	if b[0] != welcomeByte {
		return fmt.Errorf("it says %#x where it should say %#x", b[0], welcomeByte)
	}
	return nil
}

// bound ends what the connection does when ctx ends, until stop is called.
func (l *Link) bound(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { l.conn.SetDeadline(time.Unix(1, 0)) })
}

// Exchange tells the other end something, and returns what that tells in its Exchange. It waits for
// that until ctx ends. After an error the link is of no use.
func (l *Link) Exchange(ctx context.Context, mine []byte) (theirs []byte, err error) {
	defer l.bound(ctx)()
	theirs, err = Swap(l.conn, mine)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return theirs, err
}

// Close ends the link.
func (l *Link) Close() error { return l.conn.Close() }

// Swap is Exchange over any connection of two processes, which both call it. It does not return
// before what it writes is taken.
func Swap(conn io.ReadWriter, mine []byte) (theirs []byte, err error) {
	if len(mine) > maxMessage {
		return nil, fmt.Errorf("%d bytes to tell the other job, at most %d are possible", len(mine), maxMessage)
	}
	written := make(chan error, 1)
	go func() { // it ends when the other end has read, or the connection breaks
		_, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(mine))), mine...))
		written <- err
	}()
	theirs, err = readMessage(conn)
	if err != nil {
		if c, ok := conn.(io.Closer); ok {
			c.Close() // so that the writer ends, too
		}
	}
	return theirs, errors.Join(err, <-written)
}

func readMessage(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("the other job has not answered: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxMessage {
		return nil, fmt.Errorf("the other job announces %d bytes, at most %d are possible", n, maxMessage)
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n))) // it allocates what comes, not what is announced
	if err == nil && len(b) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("the other job has not said all: %w", err)
	}
	return b, nil
}
