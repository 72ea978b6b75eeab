//go:build linux

package agent

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// hello tells an agent which host it is. It is the first frame to the agent, after the facts that
// the agent has sent.
type hello struct {
	Host    int           // index in the job
	Silence time.Duration // a neighbour that says nothing for so long is lost
	Below   []Target      // hosts that it reaches, itself or through others of them
	Way     Way           // how it reaches them
	FanOut  int           // most of them that it reaches itself
	Timeout time.Duration // until they must be reached
}

// Facts are what an agent says of its host.
type Facts struct {
	Hostname   string
	Arch       string // as of GOARCH
	Cores      int    // that a job may use
	CPUs       []int  // the processors that processes may run on
	Use        Use
	BootID     string   // of the running kernel
	Place      string   // sys.Place of the agent
	Mark       string   // sys.Mark of the agent
	Marks      []string // sys.Marks that it sees, its own included
	Home       string   // directory of the user there
	Executable string   // hash of the agent's binary
	Env        []string
	PID        int
}

// Use is how busy a host is.
type Use struct {
	Memory    uint64 // bytes
	Available uint64 // bytes of memory for new processes
	Load      string // as of /proc/loadavg
}

// String is u for people.
func (u Use) String() string {
	return fmt.Sprintf("%d of %d MiB of memory free, load %s", u.Available>>20, u.Memory>>20, u.Load)
}

// prepare asks for the programs and directories of a job.
type prepare struct {
	Programs []Program
}

// Program is what an agent needs to find or store the binary of an app.
type Program struct {
	Path    string   // where fitrun has it; the same path is tried first
	Search  []string // directories in which its name is tried next
	Sum     string   // SHA-256 of the file, in hexadecimal
	Size    int64
	Foreign string // why the file is of no use to the host, "" if it is
	Preload bool   // copy it also where Path is another file
	Dir     string // working directory
	MustDir bool   // it is an error if there is no such directory; else home is taken
}

// prepared is the answer to prepare, one for each program.
type prepared struct {
	Programs []Found
}

// Found is what an agent found for a Program.
type Found struct {
	Path  string // of the binary; "" if the file is needed, or on error
	Dir   string // of the ranks
	Error string
	Other bool // Path is another file than fitrun's
	NoDir bool // Dir is home, as there is no such directory
}

// stored says that a file has come.
type stored struct {
	Sum, Path string
	Error     string
}

type start struct {
	Processes int
	Transport string
	Trace     int64
	Looks     time.Duration // as of crew.Plan
	Size      int           // ranks of the job
}

type tell struct {
	Rank  int
	Event boot.Event
}

type cards struct {
	First int
	Cards [][]byte
}

type rankOnly struct{ Rank int }

type procSignal struct{ Proc, Signal int }

type credit struct {
	Proc   int
	Stream crew.Stream // stdinStream for standard input
	Bytes  int
}

// stdinStream is the standard input of the job, among streams.
const stdinStream crew.Stream = 0

type procPID struct{ Proc, PID int }

type procError struct {
	Proc  int
	Error string // "" if kindStop asked for it
}

type rankNotice struct {
	Rank   int
	Notice boot.Notice
}

type rankError struct {
	Rank  int
	Error string
}

type procExit struct {
	Proc int
	Exit crew.Exit
}

// gone is the ranks that leave, and those of them whose process exits.
type gone struct{ Ranks, Exits []int }

type procOnly struct{ Proc int }

type procCondition struct {
	Proc      int
	Condition crew.Condition
}

// clock asks an agent for its clock, and is the answer.
type clock struct {
	Number int
	Now    int64 // in the answer: sys.Monotonic
}

// text is the payload of kindSay and kindLost.
type text struct{ Text string }

// pack makes a frame of a message.
func pack(k kind, host int, v any) frame {
	b, err := json.Marshal(v)
	if err != nil {
		panic("agent: a message that cannot be encoded: " + err.Error())
	}
	return frame{k, uint32(host), b}
}

// unpack is the message of a frame.
func unpack[T any](f frame) (v T, err error) {
	if err := json.Unmarshal(f.payload, &v); err != nil {
		return v, fmt.Errorf("malformed message of kind %d: %w", f.kind, err)
	}
	return v, nil
}

const outputHeader = 5

// packOutput makes a frame of a piece of output.
func packOutput(host, proc int, s crew.Stream, piece []byte) frame {
	b := make([]byte, 0, outputHeader+len(piece))
	b = binary.LittleEndian.AppendUint32(b, uint32(proc))
	b = append(b, byte(s))
	return frame{kindOutput, uint32(host), append(b, piece...)}
}

func unpackOutput(f frame) (proc int, s crew.Stream, piece []byte, err error) {
	if len(f.payload) < outputHeader {
		return 0, 0, nil, fmt.Errorf("output of %d bytes; it begins with the %d that say whose it is", len(f.payload), outputHeader)
	}
	s = crew.Stream(f.payload[4])
	if s != crew.Stdout && s != crew.Stderr && s != crew.Trace {
		return 0, 0, nil, fmt.Errorf("output of stream %d; want %d, %d or %d", s, crew.Stdout, crew.Stderr, crew.Trace)
	}
	return int(binary.LittleEndian.Uint32(f.payload)), s, f.payload[outputHeader:], nil
}

// sumSize is the length of a hash at the start of kindFile.
const sumSize = 32
