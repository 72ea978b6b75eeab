//go:build linux

package agent

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pair is two conns that are neighbours.
func pair(silence time.Duration) (a, b *conn, raw net.Conn) {
	x, y := net.Pipe()
	a = newConn(bufio.NewReader(x), x, silence, func(error) { x.Close() })
	b = newConn(bufio.NewReader(y), y, silence, func(error) { y.Close() })
	return a, b, y
}

// Neighbours that have nothing to say stay connected, and one that is stopped is found out in time.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := pair(20 * time.Second)
		ends := make(chan error, 2)
		ignore := func(frame) error { return nil }
		a.begin(ignore, func(err error) { ends <- err })
		b.begin(ignore, func(err error) { ends <- err })
		time.Sleep(time.Hour)
		select {
		case err := <-ends:
			t.Fatalf("it ended: %v", err)
		default:
		}
		a.close()
		a.wait()
		b.wait()
		<-ends
		<-ends
	})
	synctest.Test(t, func(t *testing.T) {
		a, _, raw := pair(20 * time.Second)
		defer raw.Close()
		ended := make(chan error, 1)
		began := time.Now()
		a.begin(func(frame) error { return nil }, func(err error) { ended <- err })
		err := <-ended
		if took := time.Since(began); took < 20*time.Second || took > 25*time.Second || !strings.Contains(err.Error(), "nothing was heard from it for 20s") {
			t.Errorf("%v after %v", err, took)
		}
		a.wait()
	})
}

// One that has said that it will be stopped is not dead, whatever else it sends before it is, until
// it says that it goes on.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, raw := pair(20 * time.Second)
		defer raw.Close()
		go io.Copy(io.Discard, raw) // ends with a
		ended := make(chan error, 1)
		a.begin(func(frame) error { return nil }, func(err error) { ended <- err })
		raw.Write(appendFrame(nil, frame{kind: kindPause}))
		raw.Write(appendFrame(nil, frame{kind: kindPing}))
		raw.Write(appendFrame(nil, frame{kind: kindStop}))
		time.Sleep(time.Hour)
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		default:
		}
		raw.Write(appendFrame(nil, frame{kind: kindResume}))
		began := time.Now()
		if err := <-ended; time.Since(began) > 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		a.wait()
	})
}

// One that is busy with a frame is not dead for not reading.
func TestBusyIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := pair(20 * time.Second)
		ends := make(chan error, 2)
		done := make(chan struct{})
		a.begin(func(frame) error {
			time.Sleep(time.Minute)
			close(done)
			return nil
		}, func(err error) { ends <- err })
		b.begin(func(frame) error { return nil }, func(err error) { ends <- err })
		b.send(frame{kind: kindStop})
		<-done
		time.Sleep(time.Minute)
		select {
		case err := <-ends:
			t.Errorf("it ended: %v", err)
		default:
		}
		b.close()
		a.wait()
		b.wait()
	})
}

// push waits while much is on its way, send never does; finish writes all of it.
func TestPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := pair(20 * time.Second)
		pushed := 0
		go func() { // ends with the conversation
			for range 10 {
				a.push(frame{kind: kindFile, payload: make([]byte, maxPayload/4)})
				pushed++
			}
			a.finish()
		}()
		synctest.Wait()
		if pushed < 4 || pushed > 6 {
			t.Errorf("%d of 10 pushed before anybody reads", pushed)
		}
		got := 0
		ended := make(chan error, 2)
		b.begin(func(frame) error { got++; return nil }, func(err error) { ended <- err })
		a.begin(func(frame) error { return nil }, func(err error) { ended <- err })
		<-ended
		<-ended
		a.wait()
		b.wait()
		if got != 10 {
			t.Errorf("%d frames came, want 10", got)
		}
	})
}
