package callsite

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

// trace is what runtime.Stack writes of goroutines of all sorts.
const trace = `goroutine 1 [sync.WaitGroup.Wait]:
sync.runtime_SemacquireWaitGroup(0x0?, 0x0?)
	/go/src/runtime/sema.go:110 +0x25
sync.(*WaitGroup).Wait(0xc0000140a0)
	/go/src/sync/waitgroup.go:118 +0x48
github.com/fitmpi/fitmpi/mpi.Main(0x5d0b28)
	/lib/mpi/job_main.go:86 +0x1d1
main.main()
	/home/u/prog/main.go:14 +0x1d

goroutine 7 [select, 3 minutes]:
github.com/fitmpi/fitmpi/engine.(*Engine).park(0xc000194008, 0xc00009bd60)
	/lib/engine/wait.go:230 +0x9c
github.com/fitmpi/fitmpi/engine.(*Engine).wait(0xc000194008, {0x1, 0x2})
	/lib/engine/wait.go:40 +0x9c
github.com/fitmpi/fitmpi/engine.(*Engine).Wait(...)
	/lib/engine/wait.go:16
github.com/fitmpi/fitmpi/mpi.Recv[...](0xc000012345, {0xc00001, 0x1, 0x1}, 0x1, 0x7)
	/lib/mpi/p2p_recv.go:40 +0x51
main.step(...)
	/home/u/prog/step.go:33
main.run({0x5e, 0x5e}, 0x1)
	/home/u/prog/main.go:20 +0x1d
github.com/fitmpi/fitmpi/mpi.(*job).call(0x0)
	/lib/mpi/job_main.go:99 +0x1d
created by github.com/fitmpi/fitmpi/mpi.Main in goroutine 1
	/lib/mpi/job_main.go:80 +0x85

goroutine 8 [chan receive (nil chan)]:
main.(*pool[...]).worker(0xc000012345)
	/home/u/prog/pool.go:12 +0x1d
created by main.start in goroutine 1
	/home/u/prog/pool.go:8 +0x5c

goroutine 9 [IO wait, 2 minutes]:
internal/poll.runtime_pollWait(0x7f, 0x72)
	/go/src/runtime/netpoll.go:351 +0x85
net/http.ListenAndServe({0x0, 0x1}, {0x2, 0x3})
	/go/src/net/http/server.go:3600 +0x85
created by main.main in goroutine 1
	/home/u/prog/main.go:9 +0x5c

goroutine 10 [syscall, locked to thread]:
github.com/fitmpi/fitmpi/engine.(*Engine).work(0xc000194008)
	/lib/engine/worker.go:20 +0x9c
sync.(*WaitGroup).Go.func1()
	/go/src/sync/waitgroup.go:258 +0x48
created by sync.(*WaitGroup).Go in goroutine 1
	/go/src/sync/waitgroup.go:238 +0x73

goroutine 11 [select]:
os/signal.NotifyContext.func1()
	/go/src/os/signal/signal.go:288 +0x77
created by os/signal.NotifyContext in goroutine 1
	/go/src/os/signal/signal.go:287 +0x1b5

goroutine 19 [runnable]:
os/signal.NotifyContext.func1()
	/go/src/os/signal/signal.go:288 +0x77
created by os/signal.NotifyContext in goroutine 1
	/go/src/os/signal/signal.go:287 +0x1b5

goroutine 12 [running]:
main.sum({0xc000, 0x3, 0x3}, {0xc001, 0x3, 0x3})
	/home/u/prog/op.go:5 +0x1d
github.com/fitmpi/fitmpi/mpi.OpCreate[...].func1(0xc000)
	/lib/mpi/coll_op.go:50 +0x1d
github.com/fitmpi/fitmpi/engine.(*Engine).work(0xc000194008)
	/lib/engine/worker.go:20 +0x9c
created by sync.(*WaitGroup).Go in goroutine 1
	/go/src/sync/waitgroup.go:238 +0x73

goroutine 13 [chan send]:
main.deep(0x32)
	/home/u/prog/deep.go:5 +0x1d
...additional frames elided...
created by main.main in goroutine 1
	/home/u/prog/main.go:11 +0x5c

goroutine 14 [runnable]:
main.main.func2()
	/home/u/prog/main.go:12
created by main.main in goroutine 1
	/home/u/prog/main.go:12 +0x66

goroutine 20 [IO wait]:
net.(*TCPListener).Accept(0xc000)
	/go/src/net/tcpsock.go:380 +0x30
net/http.(*Server).Serve(0xc000, {0x1, 0x2})
	/go/src/net/http/server.go:3424 +0x30c
created by net/http/httptest.(*Server).goServe in goroutine 7
	/go/src/net/http/httptest/server.go:312 +0x6a

goroutine 21 [IO wait]:
net/http.(*conn).serve(0xc000, {0x1, 0x2})
	/go/src/net/http/server.go:2027 +0x30c
created by net/http.(*Server).Serve in goroutine 20
	/go/src/net/http/server.go:3454 +0x485

goroutine 22 [IO wait]:
net/http.(*conn).serve(0xc000, {0x1, 0x2})
	/go/src/net/http/server.go:2027 +0x30c
created by net/http.(*Server).Serve in goroutine 999
	/go/src/net/http/server.go:3454 +0x485

goroutine 23 [IO wait]:
net/http.(*persistConn).readLoop(0xc000)
	/go/src/net/http/transport.go:2205 +0x354
created by net/http.(*Transport).dialConn in goroutine 7
	/go/src/net/http/transport.go:1843 +0x15a5

goroutine 24 [IO wait]:
net/http.(*Server).Serve(0xc000, {0x1, 0x2})
	/go/src/net/http/server.go:3424 +0x30c
github.com/fitmpi/fitmpi/metrics.(*Server).serve(0xc000)
	/lib/metrics/server.go:20 +0x30c
created by github.com/fitmpi/fitmpi/metrics.Serve in goroutine 7
	/lib/metrics/server.go:12 +0x6a

goroutine 25 [IO wait]:
net/http.(*conn).serve(0xc000, {0x1, 0x2})
	/go/src/net/http/server.go:2027 +0x30c
created by net/http.(*Server).Serve in goroutine 24
	/go/src/net/http/server.go:3454 +0x485

goroutine 26 [select]:
net/http.(*conn).serve(0xc000, {0x1, 0x2})
	/go/src/net/http/server.go:2027 +0x30c
created by net/http.(*Server).Serve in goroutine 20
	/go/src/net/http/server.go:3454 +0x485

goroutine 27 [runnable]:
golang.org/x/sys/unix.Nanosleep(0xc000, 0x0)
	/go/mod/golang.org/x/sys/unix/zsyscall_linux.go:1344 +0x30
github.com/fitmpi/fitmpi/internal/sys.IsTimerSet()
	/lib/internal/sys/timer_linux.go:38 +0x30c
created by github.com/fitmpi/fitmpi/mpi.(*job).listen in goroutine 7
	/lib/mpi/job.go:12 +0x6a

goroutine 28 [syscall]:
golang.org/x/sys/unix.Nanosleep(0xc000, 0x0)
	/go/mod/golang.org/x/sys/unix/zsyscall_linux.go:1344 +0x30
main.pause()
	/home/u/prog/main.go:52 +0x30c
created by main.main in goroutine 1
	/home/u/prog/main.go:12 +0x6a

goroutine 29 [chan receive]:
testing.(*T).Run(0xc000, {0x1, 0x2}, 0x3)
	/go/src/testing/testing.go:2005 +0x485
testing.tRunner(0xc000, 0xc001)
	/go/src/testing/testing.go:1934 +0xea
testing.(*M).Run(0xc000)
	/go/src/testing/testing.go:2252 +0x669
main.main()
	_testmain.go:50 +0x9b

goroutine 30 [chan receive]:
testing.(*T).Parallel(0xc000)
	/go/src/testing/testing.go:1700 +0x20a
example.org/prog.TestOther(0xc000)
	/home/u/prog/prog_test.go:9 +0x1d
testing.tRunner(0xc000, 0xc001)
	/go/src/testing/testing.go:1934 +0xea
created by testing.(*T).Run in goroutine 29
	/go/src/testing/testing.go:1997 +0x465

goroutine 31 [chan receive]:
example.org/prog.TestThird(0xc000)
	/home/u/prog/prog_test.go:20 +0x1d
testing.tRunner(0xc000, 0xc001)
	/go/src/testing/testing.go:1934 +0xea
created by testing.(*T).Run in goroutine 29
	/go/src/testing/testing.go:1997 +0x465

goroutine 32 [sync.WaitGroup.Wait]:
sync.(*WaitGroup).Wait(0xc000)
	/go/src/sync/waitgroup.go:118 +0x48
github.com/fitmpi/fitmpi/mpi.Threads.Run({0x2, 0x0}, {0x1, 0x2}, 0xc000)
	/lib/mpi/job_threads.go:80 +0x3c5
github.com/fitmpi/fitmpi/mpi.RunThreads(...)
	/lib/mpi/job_threads.go:44
example.org/prog.TestRanks(0xc000)
	/home/u/prog/prog_test.go:30 +0x1d
created by testing.(*T).Run in goroutine 29
	/go/src/testing/testing.go:1997 +0x465
`

func TestParseTrace(t *testing.T) {
	want := []Routine{ // the first goroutine waits for the ranks of its process
		{State: "select", At: "/home/u/prog/step.go:33", Func: "main.step", Blocked: true},
		{State: "chan receive (nil chan)", At: "/home/u/prog/pool.go:12", Func: "main.(*pool[...]).worker"},
		{State: "IO wait", At: "/home/u/prog/main.go:9", Func: "main.main"},
		{State: "select", At: "/go/src/os/signal/signal.go:287", Func: "os/signal.NotifyContext", Signal: true},
		{State: "runnable", At: "/go/src/os/signal/signal.go:287", Func: "os/signal.NotifyContext"}, // a signal has come
		{State: "running", At: "/home/u/prog/op.go:5", Func: "main.sum"},
		{State: "chan send", At: "/home/u/prog/deep.go:5", Func: "main.deep"},
		{State: "runnable", At: "/home/u/prog/main.go:12", Func: "main.main.func2"},
		// Goroutines that serve the user, as their creators show. Not those that serve the library,
		// that read the connection of a client, or that do not wait for the network.
		{State: "IO wait", At: "/go/src/net/http/httptest/server.go:312", Func: "net/http/httptest.(*Server).goServe"},
		{State: "IO wait", At: "/go/src/net/http/server.go:3454", Func: "net/http.(*Server).Serve"},
		{State: "IO wait", At: "/go/src/net/http/server.go:3454", Func: "net/http.(*Server).Serve"},
		{State: "syscall", At: "/home/u/prog/main.go:52", Func: "main.pause"}, // not a rank of this process that looks for timers
		// Tests that wait for others, one of them by a channel of its own; not one that waits for
		// the ranks which it runs.
		{State: "chan receive", At: "_testmain.go:50", Func: "main.main", Test: true},
		{State: "chan receive", At: "/home/u/prog/prog_test.go:9", Func: "example.org/prog.TestOther", Test: true},
		{State: "chan receive", At: "/home/u/prog/prog_test.go:20", Func: "example.org/prog.TestThird"},
	}
	got := parseTrace([]byte(trace))
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%v is missing", want[i])
		case i >= len(want):
			t.Errorf("%v is too much", got[i])
		case got[i] != want[i]:
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
}

// What the runtime writes today is what is read.
func TestRoutines(t *testing.T) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	mu.Lock()
	never, ch := make(chan int), make(chan int)
	stop := make(chan struct{})
	for _, f := range []func(){
		func() { mu.Lock(); defer mu.Unlock() },
		func() { <-ch },
		func() {
			select {
			case <-never:
			case <-stop:
			}
		},
	} {
		wg.Go(f)
	}
	want := map[string]bool{"sync.Mutex.Lock": true, "chan receive": true, "select": true}
	for len(want) > 0 {
		rs, whole := Routines()
		if !whole {
			t.Fatal("not all are seen")
		}
		for _, r := range rs {
			if strings.Contains(r.Func, "TestRoutines.func") && strings.Contains(r.At, "routines_test.go:") && !r.Blocked {
				delete(want, r.State)
			}
		}
		runtime.Gosched()
	}
	mu.Unlock()
	close(stop)
	ch <- 1
	wg.Wait()
}

func FuzzParseTrace(f *testing.F) {
	f.Add([]byte(trace))
	f.Add([]byte("goroutine 1 [\n\n\ngoroutine ]:\nmain.f(\n"))
	f.Add([]byte("goroutine 1 [IO wait]:\ncreated by net/http.f in goroutine 2\n\tx:1\n\ngoroutine 2 [IO wait]:\ncreated by net/http.f in goroutine 1\n\tx:1"))
	f.Add([]byte("created by main.main in goroutine 1\n\ngoroutine 1 [x]:\n...\n(\n)"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range parseTrace(b) {
			if r.Func == "" || strings.Contains(r.At, "\n") {
				t.Errorf("%+v", r)
			}
		}
	})
}
