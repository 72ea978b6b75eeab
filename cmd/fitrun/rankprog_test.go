//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// rank is a rank program that speaks the boot protocol only.
type rank struct {
	boot.Session
	boot.Info
	args []string
}

// rankprog is main of the ranks in the scripts. Its first argument names what to do; in a process
// of several ranks all do it at the same time.
func rankprog() {
	sessions, err := boot.FindAll(os.Environ())
	check(err)
	var wg sync.WaitGroup
	for _, s := range sessions {
		r := &rank{Session: s, Info: s.Info(), args: os.Args[2:]}
		wg.Go(func() { r.act(os.Args[1]) })
	}
	wg.Wait()
}

func (r *rank) act(name string) {
	act, ok := map[string]func(){
		"exchange": r.exchange, "info": r.info, "exit": r.exit, "panic": r.panic, "hang": r.hang,
		"unfinalized": r.unfinalized, "noinit": r.noInit, "abort": r.abort, "consequence": r.consequence,
		"leavechild": r.leaveChild, "session": r.session, "lines": r.lines, "cat": r.cat, "secret": r.secret, "metrics": r.metrics,
		"partial": r.partial, "garbage": r.garbage, "outlive": r.outlive, "again": r.again,
		"tune": r.tune, "place": r.place, "fds": r.fds, "segment": r.segment, "bells": r.bells,
	}[name]
	if !ok {
		check(fmt.Errorf("rankprog cannot %s", name))
	}
	act()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "rankprog:", err)
		os.Exit(99)
	}
}

func (r *rank) int(i int) int {
	n, err := strconv.Atoi(r.args[i])
	check(err)
	return n
}

// init exchanges cards with the others.
func (r *rank) init() {
	cards, err := r.Exchange(context.Background(), fmt.Appendf(nil, "card of %d", r.Rank))
	check(err)
	for i, c := range cards {
		if string(c) != fmt.Sprintf("card of %d", i) || len(cards) != r.Size {
			check(fmt.Errorf("card %d of %d is %q", i, len(cards), c))
		}
	}
}

func (r *rank) finalize() {
	check(r.Finalizing(context.Background()))
	check(r.Close())
}

// write makes a file whole, so that await finds nothing less.
func write(file, text string) {
	check(os.WriteFile(file+".new", []byte(text), 0o666))
	check(os.Rename(file+".new", file))
}

// writePid leaves a file with the id of a process where the script finds it.
func writePid(name string, pid int) { write(filepath.Join(os.Getenv("WORK"), name), strconv.Itoa(pid)) }

// untilEnded waits for the signal that ends this rank; news of the job go to stdout and to a file.
func (r *rank) untilEnded() {
	for ev := range r.Events() {
		writePid(fmt.Sprintf("rank%d.told", r.Rank), os.Getpid())
		fmt.Printf("rank %d: %v of rank %d, code %d\n", r.Rank, ev.Kind, ev.Rank, ev.Code)
	}
}

func (r *rank) exchange() {
	r.init()
	r.finalize()
	fmt.Printf("rank %d of %d has all cards\n", r.Rank, r.Size)
}

func (r *rank) info() {
	fmt.Printf("rank %d of %d, local %d of %d, %s on %s, cores>0: %v, GOMAXPROCS is cores+1: %v, metrics %v %q\n",
		r.Rank, r.Size, r.LocalRank, r.LocalSize, r.Source, r.Host, r.Cores > 0,
		runtime.GOMAXPROCS(0) == r.Cores+1, r.MetricsRequested, r.MetricsAddr)
	wd, err := os.Getwd()
	check(err)
	fmt.Printf("%s %s %s %s\n", filepath.Base(wd), os.Getenv("FITMPI_PROGRESS"), os.Getenv("FITMPI_TRANSPORT"), os.Getenv("EXTRA"))
}

// exit CODE RANK: that rank exits with the code, the others wait.
func (r *rank) exit() {
	r.init()
	if r.Rank == r.int(1) {
		for i := range 12 {
			fmt.Fprintf(os.Stderr, "last words %d\n", i)
		}
		os.Exit(r.int(0))
	}
	r.untilEnded()
}

// panic RANK
func (r *rank) panic() {
	r.init()
	if r.Rank == r.int(0) {
		panic("boom")
	}
	r.untilEnded()
}

// hang [stubborn]: every rank leaves its process id and waits; a stubborn one ignores SIGTERM.
func (r *rank) hang() {
	r.init()
	stubborn := len(r.args) > 0
	if stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	writePid(fmt.Sprintf("rank%d.pid", r.Rank), os.Getpid())
	r.untilEnded()
	select {}
}

// unfinalized RANK: that rank returns from main too early.
func (r *rank) unfinalized() {
	r.init()
	if r.Rank != r.int(0) {
		r.untilEnded()
	}
}

// noinit RANK: that rank returns without Exchange, in which the others wait for it.
func (r *rank) noInit() {
	if r.Rank != r.int(0) {
		_, err := r.Exchange(context.Background(), nil)
		fmt.Printf("rank %d: %v\n", r.Rank, err)
		r.untilEnded()
	}
}

// abort CODE RANK
func (r *rank) abort() {
	r.init()
	if r.Rank == r.int(1) {
		text := "the matrix is singular"
		if len(r.args) > 2 {
			var err error
			text, err = strconv.Unquote(`"` + r.args[2] + `"`)
			check(err)
		}
		check(r.Abort(r.int(0), text))
	}
	r.untilEnded()
}

// consequence: rank 1 dies, and rank 0 aborts because it saw that through a socket of its own, as
// mpi would.
func (r *rank) consequence() {
	fifo := filepath.Join(os.Getenv("WORK"), "between")
	if r.Rank == 1 {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		check(err)
		defer f.Close()
		r.init()
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	f, err := os.Open(fifo)
	check(err)
	r.init()
	io.Copy(io.Discard, f) // ends with rank 1
	r.Abort(5, "rank 1 failed")
	os.Exit(5)
}

// session: every rank says whether it leads a process group in the session of its launcher.
func (r *rank) session() {
	group, ours := groupOf(os.Getpid())
	_, launchers := groupOf(os.Getppid())
	fmt.Printf("in fitrun's session: %t, leads its group: %t\n", ours == launchers, group == strconv.Itoa(os.Getpid()))
}

// groupOf is the process group and the session of a process.
func groupOf(pid int) (group, session string) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check(err)
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the program's name may hold spaces and brackets
	return string(fields[2]), string(fields[3])
}

// leavechild [setsid] [wait]: rank 0 starts a process that outlives it.
func (r *rank) leaveChild() {
	r.init()
	if r.Rank == 0 {
		cmd := exec.Command("sleep", "1000")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // and holds its output open
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: slices.Contains(r.args, "setsid")}
		check(cmd.Start())
		writePid("child.pid", cmd.Process.Pid)
	}
	if slices.Contains(r.args, "wait") {
		writePid(fmt.Sprintf("rank%d.pid", r.Rank), os.Getpid())
		r.untilEnded()
	}
	r.finalize()
}

// lines COUNT LENGTH: every rank writes lines of its own letter, in pieces that are not lines.
func (r *rank) lines() {
	r.init()
	line := append(bytes.Repeat([]byte{'a' + byte(r.Rank)}, r.int(1)), '\n')
	all := bytes.Repeat(line, r.int(0))
	for piece := 1; len(all) > 0; piece = piece*7%4099 + 1 {
		n, err := os.Stdout.Write(all[:min(piece, len(all))])
		check(err)
		all = all[n:]
	}
	r.finalize()
}

// partial: every rank writes a line without end.
func (r *rank) partial() { fmt.Printf("end of %d", r.Rank) }

// cat copies what it gets from standard input to a line each.
func (r *rank) cat() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Printf("rank %d got %s\n", r.Rank, in.Text())
	}
}

// secret looks for the job's secret wherever others could see it, and for the descriptor in a
// child.
func (r *rank) secret() {
	r.init()
	for _, file := range []string{"cmdline", "environ"} {
		for _, pid := range []int{os.Getpid(), os.Getppid()} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			check(err)
			for _, s := range []string{
				string(r.Secret), hex.EncodeToString(r.Secret), base64.StdEncoding.EncodeToString(r.Secret),
				base64.RawURLEncoding.EncodeToString(r.Secret), hex.EncodeToString(r.Job[:]),
			} {
				if strings.Contains(string(text), s) {
					check(fmt.Errorf("%s of process %d shows the secret", file, pid))
				}
			}
		}
	}
	if len(r.Secret) != boot.SecretSize || bytes.Equal(r.Secret, make([]byte, boot.SecretSize)) {
		check(errors.New("no secret"))
	}
	out, err := exec.Command("sh", "-c", "echo fd=$"+boot.FDVariable+"; ls -l /proc/self/fd").Output()
	check(err)
	if !bytes.HasPrefix(out, []byte("fd=\n")) || bytes.Contains(out, []byte("socket:")) ||
		bytes.Contains(out, []byte("memfd:")) || bytes.Contains(out, []byte("eventfd")) {
		check(fmt.Errorf("a child inherits what is the rank's: %s", out))
	}
	r.finalize()
	fmt.Println("rank", r.Rank, "keeps its secret")
}

// metrics reports an address.
func (r *rank) metrics() {
	check(r.Report(boot.MetricsKey, fmt.Sprintf("%s of %d", r.MetricsAddr, r.Rank)))
	check(r.Report("other", "fact"))
	r.exchange()
}

// garbage breaks the protocol as a rank of another time would.
func (r *rank) garbage() {
	r.init()
	if r.Rank == 1 {
		r.Report("", "a report without a key")
	}
	r.untilEnded()
}

// outlive HOW RANK [CODE]: that rank dies, by a signal's number, an exit code behind "exit", or
// nonsense. The others hear of it, and end well, but for the lowest of them, which ends with the
// code if there is one.
func (r *rank) outlive() {
	r.init()
	if r.Rank == r.int(1) {
		switch how, number, _ := strings.Cut(r.args[0], "="); how {
		case "signal":
			n, err := strconv.Atoi(number)
			check(err)
			syscall.Kill(os.Getpid(), syscall.Signal(n))
		case "exit":
			n, err := strconv.Atoi(number)
			check(err)
			os.Exit(n)
		case "panic":
			panic("boom")
		case "garbage":
			r.Report("", "a report without a key")
		}
		select {}
	}
	if r.FT != true {
		check(errors.New("nobody has said that the job goes on"))
	}
	for ev := range r.Events() {
		fmt.Printf("rank %d: %v of rank %d, code %d\n", r.Rank, ev.Kind, ev.Rank, ev.Code)
		if ev.Kind == boot.PeerFailed && ev.Rank == r.int(1) {
			break
		}
	}
	r.finalize()
	if len(r.args) > 2 && r.Rank == 0 {
		os.Exit(r.int(2))
	}
}

// again TIMES HOW: the first so many times that the job is started rank 1 dies, the last of them by
// itself: "exit", "abort" or "signal".
func (r *rank) again() {
	r.init()
	in, err := io.ReadAll(os.Stdin)
	check(err)
	fmt.Printf("rank %d in attempt %d, dir %s, read %q\n", r.Rank, r.Attempt, filepath.Base(os.Getenv("FITMPI_CHECKPOINT")), in)
	if r.Attempt < r.int(0) {
		if r.Rank == 1 {
			for other := range r.Size {
				for file := fmt.Sprintf("attempt%d.rank%d.pid", r.Attempt, other); other != r.Rank; time.Sleep(time.Millisecond) {
					if _, err := os.Stat(filepath.Join(os.Getenv("WORK"), file)); err == nil {
						break
					}
				}
			}
			switch r.args[1] {
			case "exit":
				os.Exit(3 + r.Attempt)
			case "abort":
				check(r.Abort(3+r.Attempt, "singular"))
			case "signal":
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		writePid(fmt.Sprintf("attempt%d.rank%d.pid", r.Attempt, r.Rank), os.Getpid())
		r.untilEnded()
		select {}
	}
	r.finalize()
}

// tune prints what fitbench would, were asking the receiver better from 128 KiB on, the larger the
// buffers of sockets the better, and the ring better than to read.
func (r *rank) tune() {
	r.init()
	if r.Rank == 0 {
		fmt.Println("test,size,measure,sextile1")
		i := slices.Index(r.args, "-sizes")
		for text := range strings.SplitSeq(r.args[i+1], ",") {
			n, err := strconv.Atoi(text)
			check(err)
			us := float64(n)
			switch eager := os.Getenv("FITMPI_EAGER_MAX"); {
			case eager == "1M" && n > 64<<10 || eager == "4K" && n <= 64<<10:
				us *= 1.5
			}
			switch os.Getenv("FITMPI_SOCKET_BUFFER") {
			case "1M":
				us *= 0.9
			case "4M":
				us *= 0.8
			}
			switch os.Getenv("FITMPI_SHM_COPY") {
			case "ring":
				us *= 0.9
			case "read":
				us *= 1.1
			}
			fmt.Printf("pingpong,%d,half-rtt,%g\n", n, us)
		}
	}
	r.finalize()
}
