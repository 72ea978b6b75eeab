package boot

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// FDVariable is the environment variable that names the descriptor of the launcher's socket.
const FDVariable = "FITMPI_BOOT_FD"

// MarkVariable is the environment variable by which fitrun knows all processes that its ranks have
// started, wherever they went. Its value is random.
const MarkVariable = "FITMPI_MARK"

// TransportKey is the key under which a rank reports by which transports it reaches the others.
const TransportKey = "transport"

// MetricsKey is the key under which a rank reports the address at which it serves its metrics.
const MetricsKey = "metrics"

// FailedKey is the key under which a rank of a job that goes on without those that die says why it
// gives up. Its exit follows.
const FailedKey = "failed"

// Info is what a launcher tells a rank about itself.
type Info struct {
	Rank, Size           int      // 0 <= Rank < Size
	LocalRank, LocalSize int      // the same among the ranks of this host
	Job                  [16]byte // one per job, not secret
	Secret               []byte   // SecretSize bytes that only ranks of this job know
	Source               string   // what told the rank this: "fitrun", "pmi", "slurm", "kubernetes", "openmpi", "pmix", "environment", or "none" for a job of one
	Host                 string   // name of this rank's host as the launcher knows it
	Cores                int      // cores given to this rank, at least 1
	Universe             int      // ranks for which there is a core, those of this job included, and at least as many; 0 if unknown
	MetricsAddr          string   // where to serve metrics; port 0 means any, and report it
	MetricsRequested     bool     // whether to serve metrics at all
	Process              int      // which of the job's processes on this host holds this rank, from 0
	ProcessRanks         int      // how many ranks that process has, at least 1; their local ranks are consecutive
	Bound                []int    // processors that the process is bound to, ascending; nil if it is not
	Roam                 []int    // processors on which its threads may run that only move messages, ascending; nil if those are where the process may run
	Segment              *os.File // memory shared by the ranks of this host, nil if there is none; the session closes it
	AppNum               int      // which of the job's programs this rank runs, from 0
	Watched              bool     // the launcher wants the rank's counters when it finalizes, as the answer to question 0
	FT                   bool     // the job goes on when a rank dies: PeerFailed is all that comes of it (fitrun --with-ft)
	Attempt              int      // how often the job was started before this time, because it failed (fitrun --restart)
	Net                  Net      // how this rank reaches ranks of other hosts
	Bell                 *os.File // eventfd by which others of this host wake this rank, nil if none; the session closes it
	Trace                *os.File // memory in which the rank is to note what it does, see internal/trace; nil if no trace is wanted. The session closes it

	Parent string // the port of the ranks that have spawned this job, see package port; empty if none have

	Kin Kin // its place among the jobs of its launcher

	Given map[string]string // by name of an environment variable that the launcher's options have set: which option; nil if there is none

	local []int // the ranks of this host, ascending; nil if the launcher has not said
}

// Kin is the place of a job among all that one launcher runs: the one that it began with, of which
// this is the zero value, and those that ranks have spawned. The ranks of all of them have numbers,
// by which they name each other to the launcher: those of the first job their ranks, those of the
// others what follows, each number once.
type Kin struct {
	Name  string // "2" for the second job that the first has spawned, "2.1" for the first that this one has
	First int    // number of rank 0 of the job
	Root  string // id of the first job, in hexadecimal digits; "" in that job itself
}

// EventKind says what a launcher has to tell.
type EventKind uint8

const (
	// PeerFailed: the rank in Event.Rank is dead; nothing more will come from it.
	PeerFailed EventKind = iota + 1
	// JobAborted: the job is being ended; Rank asked for it, or -1 when the launcher itself did
	// (timeout, interrupt).
	JobAborted
	// LauncherGone: the launcher closed its end or died. The last event of a session.
	LauncherGone
	// leaderIdles: rank 0, at which the ranks meet, is idle (Code 1), or takes part again (0). Its
	// exit is no news while it is idle. A session keeps it to itself.
	leaderIdles
	// Asked: the launcher asks what Message says, a question of internal/telemetry; Code is its
	// number, for Answer.
	Asked
	// ForeignFailed: ranks of jobs that this one may have met are dead; TakeForeign says which.
	ForeignFailed
	// Spawned: the launcher has executed an Order, or has not, as Message says then; Code is its
	// number. A session keeps it to itself.
	Spawned
)

func (k EventKind) String() string {
	switch k {
	case PeerFailed:
		return "peer-failed"
	case JobAborted:
		return "job-aborted"
	case LauncherGone:
		return "launcher-gone"
	case leaderIdles:
		return "leader-rests"
	case Asked:
		return "asked"
	case ForeignFailed:
		return "foreign-failed"
	case Spawned:
		return "spawned"
	default:
		return "EventKind(" + strconv.Itoa(int(k)) + ")"
	}
}

// eventKindOf is the inverse of String for the events that travel.
func eventKindOf(s string) (EventKind, bool) {
	for _, k := range []EventKind{PeerFailed, JobAborted, leaderIdles, Asked, ForeignFailed, Spawned} {
		if s == k.String() {
			return k, true
		}
	}
	return 0, false
}

// Event is news about the job, or a question. A session delivers at most one PeerFailed per rank,
// one JobAborted and one LauncherGone. Questions that come faster than they are read are dropped.
type Event struct {
	Kind    EventKind
	Rank    int    // the rank that it is about, -1 if it is about none in particular
	Message string // for people
	Code    int    // exit code that goes with it

	Job [16]byte // of ForeignFailed: the job of the rank, on its way to a session
}

// Session is a rank's connection to its launcher.
type Session interface {
	// Info returns what the launcher said at the start. The caller must not change Secret.
	Info() Info
	// Exchange hands in this rank's card, at most MaxCard bytes, and returns the cards of all ranks
	// in rank order. It waits for the slowest rank, and fails when the job cannot complete the
	// exchange any more. Once per session.
	Exchange(ctx context.Context, card []byte) ([][]byte, error)
	// Finalizing tells the launcher that this rank is done with the others: from now on exit code 0
	// is a clean end.
	Finalizing(ctx context.Context) error
	// Abort asks the launcher to end the job with code, and to show message once. It does not wait
	// for the end. Without fitrun it waits, for half a second at most, until the message is shown.
	Abort(code int, message string) error
	// Report tells the launcher a fact about this rank, such as MetricsKey and an address.
	Report(key, value string) error
	// Answer answers the question of an Asked with JSON, at most MaxAnswer bytes. It waits for room
	// in the connection.
	Answer(number int, data []byte) error
	// Events delivers news. It never blocks the session if no goroutine reads it. Close closes it.
	Events() <-chan Event
	// Close ends the session, waits for its goroutine, and closes Info's files. It is idempotent.
	Close() error
	// Bell asks the launcher for the bell of another local rank. then runs once, on the session's
	// goroutine, or before Bell returns if the bell is here already. It owns the file, and must
	// neither block nor close the session. It never runs if the session ends first, or after an
	// error. A bell is an eventfd that blocks: see sys.NewEventFD for why no program may change
	// that.
	Bell(localRank int, then func(bell *os.File)) error
}

// Find returns the session of this process, by environ (as of os.Environ): with fitrun if it names
// fitrun's descriptor, else by what another launcher says there, else that of a job of one rank. It
// takes a descriptor over and changes the process's environment so that a child does not take
// itself for this rank; so it finds a launcher once. Where the ranks meet by themselves it waits
// for all of them, up to a limit, and says on standard error what it waits for. In a process of
// several ranks it is an error: see FindAll.
func Find(environ []string) (Session, error) {
	if value, _ := lookup(environ, FDVariable); strings.Contains(value, ",") {
		const advice = "start them with mpi.Main, which runs each as a thread of its own"
		return nil, fmt.Errorf("boot: this process has %d ranks (--ranks-per-process): %s", 1+strings.Count(value, ","), advice)
	}
	all, err := FindAll(environ)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// FindAll is Find for a process of any number of ranks. It returns their sessions in rank order, at
// least one.
func FindAll(environ []string) ([]Session, error) {
	value, ok := lookup(environ, FDVariable)
	if !ok {
		s, err := findOther(environ)
		if err != nil {
			return nil, err
		}
		return []Session{s}, nil
	}
	if err := os.Unsetenv(FDVariable); err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	parent := os.Getenv(ParentVariable)
	if err := os.Unsetenv(ParentVariable); err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	var all []Session
	for number := range strings.SplitSeq(value, ",") {
		s, err := openInherited(number)
		if err != nil {
			for _, s := range all {
				s.Close()
			}
			return nil, err
		}
		if s, ok := s.(*session); ok {
			s.info.Parent = parent
		}
		all = append(all, s)
	}
	return all, nil
}

// RanksHere is how many ranks of a launcher's job this process is, by environ; 0 if no launcher has
// started it. It opens nothing and changes nothing. To be asked before FindAll, which makes the
// process forget. Where the environment makes no sense it is 1: FindAll says what is wrong.
func RanksHere(environ []string) int {
	if value, ok := lookup(environ, FDVariable); ok {
		return 1 + strings.Count(value, ",")
	}
	return otherRanks(environ)
}

// openInherited opens the session over the descriptor with this number.
func openInherited(number string) (Session, error) {
	conn, err := inherit(number, "fitrun")
	if err != nil {
		return nil, fmt.Errorf("boot: %s=%s: %w; unset it to run as a job of one rank", FDVariable, clip(number, maxKey), err)
	}
	return Open(conn)
}

// lookup returns the last value of name, the one that counts when a variable is given twice.
func lookup(environ []string, name string) (value string, ok bool) {
	for _, e := range environ {
		if k, v, found := strings.Cut(e, "="); found && k == name {
			value, ok = v, true
		}
	}
	return value, ok
}

// NewJob returns a fresh job id and secret.
func NewJob() (job [16]byte, secret []byte) {
	secret = make([]byte, SecretSize)
	rand.Read(job[:]) // never fails: crypto/rand ends the program instead
	rand.Read(secret)
	return job, secret
}
