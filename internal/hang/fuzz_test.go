package hang

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/plain"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// FuzzExplain: whatever ranks answer, fitrun does not panic over it.
func FuzzExplain(f *testing.F) {
	for _, sc := range scenes {
		job := sc.make().Job
		var all [2][]byte
		for i := range min(2, len(job.Ranks)) {
			if r := job.Ranks[i].Report; r != nil {
				b, err := json.Marshal(r)
				if err != nil {
					f.Fatal(err)
				}
				all[i] = b
			}
		}
		f.Add(all[0], all[1], job.Settled)
	}
	f.Fuzz(func(t *testing.T, a, b []byte, settled bool) {
		j := &Job{Settled: settled, Dir: "/home"}
		for i, data := range [][]byte{a, b, a} {
			r := Rank{Phase: Inside, Host: "h", Process: i, Since: time.Second, Still: len(data)%2 == 0}
			if len(data)%5 == 4 {
				r.Phase = Phase(len(data) % int(Dead+1))
			}
			var err error
			if r.Report, err = telemetry.Decode(data); err != nil {
				r.Report = nil
			}
			j.Ranks = append(j.Ranks, r)
		}
		e := Explain(j)
		for _, text := range []string{e.Text(), e.Title()} {
			if flat := strings.ReplaceAll(text, "\n", ""); plain.Line(flat) != flat {
				t.Fatalf("what a rank says reaches the terminal as it is: %q", text)
			}
		}
	})
}
