package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi"
)

// The suite once more, looked at by a tool: whatever ranks do, both ends of a pair number its
// messages alike, every message goes through the stages that MessageKind promises, and every call
// that begins ends.

// envTold says that a tool looks at the suite.
const envTold = "FITMPI_TESTS_TOLD"

func init() {
	programs["observed suite"] = func() {
		mpi.UseTool(func(r mpi.ToolRank) mpi.Tool { return savedLog{newMessageLog(r.Rank)} })
		suiteRank()
	}
}

// savedLog is a messageLog that is written to a file when its rank has finalized.
type savedLog struct{ *messageLog }

// End implements mpi.Tool.
func (l savedLog) End(call *mpi.Call, err error) {
	if l.messageLog.End(call, err); call.Op != "Finalize" {
		return
	}
	l.mu.Lock() // where a session is finalized, others of the process may go on
	defer l.mu.Unlock()
	b, jsonErr := json.Marshal(l.messageLog)
	if jsonErr == nil {
		jsonErr = os.WriteFile(filepath.Join(os.Getenv(envDir), fmt.Sprint("log", l.Rank)), b, 0o600)
	}
	if jsonErr != nil {
		panic(jsonErr)
	}
}

// envelope is what both ends must say of a message.
type envelope struct {
	Tag     int
	Context uint64
	Use     mpi.MessageUse
	Bytes   int
}

// message is one of them at one end.
type message struct {
	Envelope envelope
	Stage    mpi.MessageKind // the last that was told
	Void     bool            // its sender has cancelled it
	Left     bool            // its receiver had finalized before it said what became of it
}

// messageLog is a tool that keeps what it is told of messages.
type messageLog struct {
	mu      sync.Mutex
	Rank    int
	Sent    map[int][]message // by receiver, in order of their numbers
	Arrived map[int][]message // by sender
	Calls   int               // that have begun and not ended
	Ops     map[string]int    // calls that have ended, by name
	Faults  []string
}

func newMessageLog(rank int) *messageLog {
	return &messageLog{Rank: rank, Sent: map[int][]message{}, Arrived: map[int][]message{}, Ops: map[string]int{}}
}

func (l *messageLog) faultLocked(format string, args ...any) {
	if len(l.Faults) < 10 {
		l.Faults = append(l.Faults, fmt.Sprintf("rank %d: ", l.Rank)+fmt.Sprintf(format, args...))
	}
}

// Begin implements mpi.Tool.
func (l *messageLog) Begin(call *mpi.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Calls++
	if call.Value != nil {
		l.faultLocked("%s begins with the value %v of another call", call.Op, call.Value)
	}
	call.Value = call.Op
}

// End implements mpi.Tool.
func (l *messageLog) End(call *mpi.Call, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Calls--
	l.Ops[call.Op]++
	if call.Value != call.Op {
		l.faultLocked("%s ends with the value %v", call.Op, call.Value)
	}
}

// Message implements mpi.MessageTool.
func (l *messageLog) Message(ev mpi.MessageEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := envelope{ev.Tag, ev.Context, ev.Use, ev.Bytes}
	list, peer := l.Arrived, ev.Source
	if ev.Kind == mpi.MessageSent || ev.Kind == mpi.MessageSendDone {
		list, peer = l.Sent, ev.Dest
	}
	if ev.Kind == mpi.MessageSent || ev.Kind == mpi.MessageArrived {
		list[peer] = append(list[peer], message{Envelope: e, Stage: ev.Kind})
		if int(ev.Number) != len(list[peer]) {
			l.faultLocked("message %d with %d, %+v, %v after %d", ev.Number, peer, e, ev.Kind, len(list[peer])-1)
		}
		return
	}
	if ev.Number < 1 || int(ev.Number) > len(list[peer]) {
		l.faultLocked("message %d with %d, which there is not: %+v, %v", ev.Number, peer, e, ev.Kind)
		return
	}
	m := &list[peer][ev.Number-1]
	if before := map[mpi.MessageKind]mpi.MessageKind{
		mpi.MessageSendDone: mpi.MessageSent, mpi.MessageMatched: mpi.MessageArrived,
		mpi.MessageReceived: mpi.MessageMatched, mpi.MessageWithdrawn: mpi.MessageArrived,
	}[ev.Kind]; m.Stage != before && !(m.Stage == mpi.MessageMatched && before == mpi.MessageArrived) { // the receive has given it back
		l.faultLocked("message %d with %d, %+v, is %v after %v", ev.Number, peer, e, ev.Kind, m.Stage)
	}
	if m.Envelope != e {
		l.faultLocked("message %d with %d is %+v, was %+v", ev.Number, peer, e, m.Envelope)
	}
	m.Stage, m.Void, m.Left = ev.Kind, ev.Cancelled, errors.Is(ev.Err, engine.ErrPeerLeft)
}

// compareLogs compares what the ends of each pair of ranks say.
func compareLogs(t *testing.T, logs []*messageLog) {
	t.Helper()
	messages := 0
	for a, from := range logs {
		for _, f := range from.Faults {
			t.Error(f)
		}
		if from.Calls != 0 {
			t.Errorf("rank %d: %d calls have not ended", a, from.Calls)
		}
		for b, to := range logs {
			sent, arrived := from.Sent[b], to.Arrived[a]
			messages += len(sent)
			if len(sent) != len(arrived) {
				t.Errorf("rank %d has sent %d messages to rank %d, of which %d have arrived", a, len(sent), b, len(arrived))
			}
			for i := range min(len(sent), len(arrived)) {
				if sent[i].Envelope != arrived[i].Envelope {
					t.Errorf("message %d from %d to %d is sent as %+v and arrives as %+v", i+1, a, b, sent[i].Envelope, arrived[i].Envelope)
					break
				}
				isVoid := arrived[i].Stage == mpi.MessageWithdrawn
				if sent[i].Void != isVoid && !sent[i].Left && !(isVoid && sent[i].Envelope.Use == mpi.UseCollective) { // of one that has failed there
					t.Errorf("message %d from %d to %d, %+v, cancelled: %v, is %v in the end", i+1, a, b, sent[i].Envelope, sent[i].Void, arrived[i].Stage)
				}
			}
			if i := slices.IndexFunc(sent, func(m message) bool { return m.Stage != mpi.MessageSendDone }); i >= 0 {
				t.Errorf("message %d from %d to %d, %+v, was never done", i+1, a, b, sent[i].Envelope)
			}
		}
	}
	if messages < 1000 && len(logs) > 1 {
		t.Errorf("%d messages in all: too few to show anything", messages)
	}
	t.Logf("%d messages", messages)
}
