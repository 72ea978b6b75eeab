package mpi

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

func hostname() string { return sys.Hostname() }

// ProcessorName is the name of the host that the calling rank of c runs on
// (MPI 4.1, section 9.1.2).
func (c *Comm) ProcessorName() string { return c.job.host }

var timeBase = time.Now()

// Wtime is the time in seconds since some moment in the past, by a clock that
// never goes back (MPI 4.1, section 9.6).
func Wtime() float64 { return time.Since(timeBase).Seconds() }

// Wtick is the resolution of Wtime in seconds (MPI 4.1, section 9.6).
func Wtick() float64 { return 1e-9 }

// WtimeIsGlobal reports whether Wtime tells all ranks of the job the same time (MPI 4.1, section
// 9.1.2, MPI_WTIME_IS_GLOBAL). Wtime counts from the start of the process, so it does if all ranks
// are in this one.
func (c *Comm) WtimeIsGlobal() bool {
	info := c.job.session.Info()
	return info.ProcessRanks == info.Size
}

// The version of the standard that this package follows.
const (
	standardVersion    = 4
	standardSubversion = 1
)

// Version is the version of the MPI standard that this package follows, such as 4 and 1 (MPI 4.1,
// section 9.1.1). What is missing of it is in the package's documents.
func Version() (version, subversion int) { return standardVersion, standardSubversion }

const modulePath = "github.com/fitmpi/fitmpi"

// LibraryVersion names this library, its module's version and the Go release and system that it was
// compiled for (MPI 4.1, section 9.1.1). A version (devel) was built from a checkout.
func LibraryVersion() string {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = moduleVersion(info)
	}
	return fmt.Sprintf("FitMPI %s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// moduleVersion is the version of this module in a program.
func moduleVersion(info *debug.BuildInfo) string {
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != modulePath {
			continue
		}
		for m.Replace != nil {
			m = m.Replace
		}
		return cmp.Or(m.Version, "(devel)")
	}
	return "(devel)"
}

// UniverseSize is the number of ranks for which the launcher has a core, those of the job included;
// at least the size of the job (MPI 4.1, section 11.10.1, MPI_UNIVERSE_SIZE). ok is false if no
// launcher says it, as where there is none.
func (c *Comm) UniverseSize() (n int, ok bool) {
	n = c.job.session.Info().Universe
	return n, n > 0
}

// AppNum is the number of the program that the calling rank of c runs, among those that its job was
// started with (MPI 4.1, section 11.10.3, MPI_APPNUM), from 0. ok is false without a launcher, as
// among the ranks of RunThreads.
func (c *Comm) AppNum() (n int, ok bool) {
	info := c.job.session.Info()
	return info.AppNum, info.Source != "none" && info.Source != sourceThreads
}

// Restarts is how often fitrun has started the job of c anew because it failed (fitrun --restart):
// 0 the first time, and without fitrun. It is not of MPI 4.1.
func (c *Comm) Restarts() int { return c.job.session.Info().Attempt }

// HostRank is the rank of the host process in world, ProcNull if there is none, as is always so
// here (MPI 4.1, section 9.1.2, MPI_HOST, which is deprecated).
func (c *Comm) HostRank() int { return ProcNull }

// IORank is a rank in world that can do input and output as the language has it: AnySource, as
// every rank can (MPI 4.1, section 9.1.2, MPI_IO). fitrun gives its own standard input to the
// process of rank 0 only.
func (c *Comm) IORank() int { return AnySource }

// ThreadLevel is what the threads of a rank may do (MPI 4.1, section 11.6). Each level includes
// those before it.
type ThreadLevel int

// The thread levels of MPI 4.1, section 11.6, in the order of what they allow. For threads read
// goroutines.
const (
	ThreadSingle     ThreadLevel = iota // there is one thread
	ThreadFunneled                      // only the main thread communicates
	ThreadSerialized                    // all may, one at a time
	ThreadMultiple                      // all may at once; what FitMPI always gives
)

// String is the level's name.
func (l ThreadLevel) String() string {
	if l < ThreadSingle || l > ThreadMultiple {
		return fmt.Sprintf("thread level %d", int(l))
	}
	return [...]string{"single", "funneled", "serialized", "multiple"}[l]
}

// InitThread is Init that asks for a thread level and says which one there is: always
// ThreadMultiple, which includes the others (MPI 4.1, section 11.6). A level that does not exist is
// an error of class [ErrArg].
func InitThread(required ThreadLevel) (world *Comm, provided ThreadLevel, err error) {
	if required < ThreadSingle || required > ThreadMultiple {
		return nil, ThreadMultiple, opErrorf(ErrArg, "InitThread", "thread level %d: need ThreadSingle to ThreadMultiple, %d to %d", int(required), ThreadSingle, ThreadMultiple)
	}
	world, err = Init()
	return world, ThreadMultiple, err
}

// QueryThread is the thread level of every rank: ThreadMultiple (MPI 4.1, section 11.6).
func QueryThread() ThreadLevel { return ThreadMultiple }

// IsThreadMain reports whether the caller is the main goroutine of the rank of c: the one that
// called Init, or on which Main or RunThreads runs the rank's function (MPI 4.1, section 11.6).
// Since every goroutine may communicate, only code that is written for a lower level asks. It takes
// a microsecond or two.
func (c *Comm) IsThreadMain() bool { return c.job.mainRoutine.Load() == goroutineID() }

// markMain says that the calling goroutine is the main one of the rank.
func (j *job) markMain() { j.mainRoutine.Store(goroutineID()) }

// goroutineID is the number of the calling goroutine. The one place that tells it is the first line
// of its stack trace, "goroutine 7 [running]:".
func goroutineID() uint64 {
	var b [64]byte
	trace := string(b[:runtime.Stack(b[:], false)])
	var id uint64
	if _, err := fmt.Sscanf(trace, "goroutine %d ", &id); err != nil {
		panic("mpi: a bug in FitMPI: a stack trace begins with " + strings.SplitN(trace, "\n", 2)[0])
	}
	return id
}

// InfoEnv tells how the calling rank of c was started: command and argv (the arguments,
// with a space between), maxprocs and soft (the number of ranks of the job), host, arch,
// wdir (the working directory) and thread_level. A key whose value is not known is not
// there. The result is the caller's own (MPI 4.1, section 11.2.1, MPI_INFO_ENV).
func (c *Comm) InfoEnv() (*Info, error) {
	if err := c.present("InfoEnv"); err != nil {
		return nil, c.fail(err)
	}
	i := InfoCreateEnv()
	n := strconv.Itoa(c.job.world.Size())
	i.setKnown("maxprocs", n)
	i.setKnown("soft", n)
	i.setKnown("host", c.job.host)
	return i, nil
}

// InfoCreateEnv is InfoEnv as far as the process knows it without its job: it may be
// called before Init and after Finalize (MPI 4.1, chapter 10, MPI_Info_create_env).
func InfoCreateEnv() *Info {
	i := InfoCreate()
	if len(os.Args) > 0 {
		i.setKnown("command", os.Args[0])
		i.setKnown("argv", strings.Join(os.Args[1:], " "))
	}
	i.setKnown("host", hostname())
	i.setKnown("arch", runtime.GOARCH)
	if dir, err := os.Getwd(); err == nil {
		i.setKnown("wdir", dir)
	}
	i.setKnown("thread_level", "MPI_THREAD_MULTIPLE")
	return i
}

// setKnown sets what is not empty and not too long.
func (i *Info) setKnown(key, value string) {
	if value != "" {
		_ = i.Set(key, value) // too long is as good as unknown
	}
}
