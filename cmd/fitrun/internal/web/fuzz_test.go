//go:build linux

package web

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// FuzzPicture: whatever ranks say of themselves, there is a picture of the job, of bounded size,
// and what browsers are sent of it is one event.
func FuzzPicture(f *testing.F) {
	stencil := newFake(2, 1)
	stencil.stencil(2, 3)
	for _, r := range stencil.ranks {
		report := telemetry.Report{Counters: r.Counters}
		b, err := json.Marshal(&report)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b, "joined", 0, int64(5))
	}
	f.Add([]byte(`{}`), []byte(`null`), "over", 137, int64(-1))
	f.Fuzz(func(t *testing.T, first, second []byte, phase string, code int, later int64) {
		switch launch.Phase(phase) {
		case launch.Waiting, launch.Started, launch.Joined, launch.Idle, launch.Finalizing, launch.Over:
		default:
			return // not what a rank says
		}
		began := time.Unix(1e9, 0)
		in := input{start: began, now: began.Add(time.Duration(later))}
		for r, data := range [][]byte{first, second} {
			v := view.Rank{Rank: r, Host: "h", Program: "p", Since: began}
			v.State.Phase, v.State.Code = launch.Phase(phase), code
			if report, err := telemetry.Decode(data); err == nil && report.Counters != nil {
				v.Pulse, v.Counters, v.Traffic = &report.Pulse, report.Counters, make(map[int]telemetry.Peer)
				for _, p := range report.Counters.Peers {
					v.Traffic[p.Rank] = p
				}
			}
			in.ranks = append(in.ranks, v)
		}
		one := draw(in, nil)
		in.now = in.now.Add(time.Second)
		two := draw(in, one)
		for _, u := range []update{changes(nil, one), changes(one, two)} {
			b := u.appendEvent(nil)
			if !bytes.HasSuffix(b, []byte("\n\n")) || bytes.Count(b, []byte("\n")) != 3 {
				t.Fatalf("an event is %q", b)
			}
		}
	})
}
