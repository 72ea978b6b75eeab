//go:build !fitmpi_portable

package boot

import (
	"encoding/base64"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot/internal/pmi"
	"github.com/fitmpi/fitmpi/internal/boot/internal/pmi/pmitest"
)

// devNull takes what ranks say that a test does not look at.
func devNull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// pmiClients are those of all processes of a job in space.
func pmiClients(t *testing.T, space *pmitest.Space, size int) []*pmi.Client {
	t.Helper()
	clients := make([]*pmi.Client, size)
	var launcher sync.WaitGroup
	for r := range size {
		here, there := net.Pipe()
		launcher.Go(func() {
			if err := space.Serve(there); err != nil {
				t.Error(err)
			}
		})
		c, err := pmi.Start(here)
		if err != nil {
			t.Fatal(err)
		}
		clients[r] = c
	}
	t.Cleanup(launcher.Wait)
	return clients
}

// openAllPMI opens the sessions of all ranks.
func openAllPMI(t *testing.T, space *pmitest.Space, size int, say *os.File) []Session {
	t.Helper()
	all := make([]Session, size)
	var wg sync.WaitGroup
	for r, client := range pmiClients(t, space, size) {
		wg.Go(func() {
			s, err := openPMI(client, &claim{source: "pmi", rank: r, size: size}, say)
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
				return
			}
			all[r] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// With the shortest values that a launcher may have, and with those of all.
func TestPMISession(t *testing.T) {
	for _, valueMax := range []int{64, 1024} {
		const size = 4
		all := openAllPMI(t, pmitest.New(size, valueMax), size, devNull(t))
		first := all[0].Info()
		for r, s := range all {
			info := s.Info()
			switch {
			case info.Rank != r || info.Size != size || info.LocalRank != r || info.LocalSize != size || info.Source != "pmi" || info.Universe != 8 || info.AppNum != 1:
				t.Errorf("rank %d: %+v", r, info)
			case info.Job != first.Job || string(info.Secret) != string(first.Secret) || len(info.Secret) != SecretSize:
				t.Errorf("rank %d has another job or secret", r)
			case info.Segment == nil || info.Bell == nil || info.Net.Remote:
				t.Errorf("rank %d has no memory: %+v", r, info)
			}
		}
		wantExchange(t, all)
		wantBells(t, all)
		finishAll(t, all)
	}
}

func TestPMIAbort(t *testing.T) {
	space := pmitest.New(2, 1024)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := openAllPMI(t, space, 2, w)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := errors.Join(all[1].Abort(7, "enough"), all[1].Close()); err != nil {
			t.Error(err)
		}
	})
	said := make([]byte, 1024)
	n, err := r.Read(said)
	if err != nil || !strings.HasPrefix(string(said[:n]), "fitmpi: rank 1 (pid ") || !strings.HasSuffix(string(said[:n]), "aborted the job with code 7: enough\n") {
		t.Errorf("rank 1 says %q, %v", said[:n], err)
	}
	wg.Wait()
	ctx := failsafe(t)
	select {
	case ev := <-all[0].Events(): // from the ranks of this host, before the launcher ends this one
		if ev.Kind != JobAborted || ev.Rank != 1 || ev.Code != 7 {
			t.Errorf("event %+v, want %v", ev, JobAborted)
		}
	case <-ctx.Done():
		t.Error("the abort went unnoticed")
	}
	all[0].Close()
	w.Close()
	select {
	case got := <-space.Aborts():
		if got != "exitcode=7" {
			t.Errorf("the launcher was asked to abort with %q", got)
		}
	case <-ctx.Done():
		t.Error("the launcher was not asked to abort")
	}
}

func TestPMILauncherGone(t *testing.T) {
	here, there := net.Pipe()
	var launcher sync.WaitGroup
	space := pmitest.New(1, 1024)
	launcher.Go(func() { space.Serve(there) })
	c, err := pmi.Start(here)
	if err != nil {
		t.Fatal(err)
	}
	s, err := openPMI(c, &claim{source: "pmi", rank: 0, size: 1}, devNull(t))
	if err != nil {
		t.Fatal(err)
	}
	there.Close()
	wantEvent(t, s, Event{Kind: LauncherGone, Rank: -1, Message: "lost the launcher: the launcher closed the connection or died", Code: 1})
	_, err = s.Exchange(failsafe(t), nil)
	wantRefused(t, err, "boot: exchanging addresses: pmi: putting \"fitmpi-card-0\": the launcher closed the connection or died")
	wantRefused(t, s.Finalizing(failsafe(t)), "boot: telling the launcher of the end: pmi: finalizing: the launcher closed the connection or died")
	wantRefused(t, s.Abort(1, "why"), "boot: asking the launcher to abort the job: pmi: asking for the end of the job: io: read/write on closed pipe")
	s.Close()
	if _, open := <-s.Events(); open {
		t.Error("events are open after Close")
	}
	launcher.Wait()
}

// What another rank has put is not believed.
func TestPMIRefuses(t *testing.T) {
	const key = "k"
	encoded := base64.RawURLEncoding.EncodeToString([]byte("value"))
	for value, want := range map[string]string{
		encoded:              `the value of "k" does not begin with a number of pieces from 1 to 1024: "` + encoded + `"`,
		"0." + encoded:       `the value of "k" does not begin with a number of pieces from 1 to 1024: "0.` + encoded + `"`,
		"1025." + encoded:    `the value of "k" does not begin with a number of pieces from 1 to 1024: "1025.` + encoded + `"`,
		"x." + encoded:       `the value of "k" does not begin with a number of pieces from 1 to 1024: "x.` + encoded + `"`,
		"2." + encoded:       `pmi: getting "k-1": the launcher refuses (rc=1)`,
		"1." + encoded + "$": `the value of "k": illegal base64 data at input byte 7`,
	} {
		space := pmitest.New(1, 1024)
		space.Set(key, value)
		s := &pmiSession{client: pmiClients(t, space, 1)[0]}
		if b, err := s.get(t.Context(), key); err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v; want %s", value, b, err, want)
		}
		s.client.Close()
	}
}

// A place or a job that makes no sense.
func TestPMILearnRefuses(t *testing.T) {
	encode := func(s string) string { return "1." + base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, tc := range []struct{ key, value, want string }{
		{keyPlace + "0", encode("{"), "boot: where rank 0 is: unexpected end of JSON input"},
		{keyPlace + "0", encode(`{"cpus":"3-1"}`), `boot: where rank 0 is: "3-1" is not a list of processors such as 0-3,8`},
		{keyJob, encode("job"), "boot: job id of 3 bytes and secret of 32 from rank 0: want 16 and 32"},
		{keySecret, encode("secret"), "boot: job id of 16 bytes and secret of 6 from rank 0: want 16 and 32"},
	} {
		space := pmitest.New(2, 1024)
		var ranks sync.WaitGroup
		for r, client := range pmiClients(t, space, 2) {
			ranks.Go(func() {
				if r == 0 { // which puts its own, and then another
					s := &pmiSession{client: client}
					for _, key := range []string{keyPlace + "0", keyJob, keySecret} {
						value := map[string]string{keyPlace + "0": "{}", keyJob: string(make([]byte, 16)), keySecret: string(make([]byte, 32))}[key]
						if err := s.put(t.Context(), key, []byte(value)); err != nil {
							t.Error(err)
						}
					}
					space.Set(tc.key, tc.value)
					client.Barrier(t.Context())
					client.Close()
					return
				}
				_, err := openPMI(client, &claim{source: "pmi", rank: 1, size: 2}, devNull(t))
				if err == nil || err.Error() != tc.want {
					t.Errorf("%v, want %s", err, tc.want)
				}
			})
		}
		ranks.Wait()
	}
}
