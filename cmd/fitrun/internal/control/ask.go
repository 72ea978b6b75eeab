//go:build linux

package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Ask asks the fitrun with a process id. It waits until ctx ends at most. The error says what that
// process is instead.
func Ask(ctx context.Context, pid int, want string) (*Answer, error) {
	name, err := nameOf(pid)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", name)
	if err != nil {
		return nil, explain(pid, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	if err := checkServer(conn, pid); err != nil {
		return nil, err
	}
	a, err := converse(conn, want)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("fitrun %d does not answer; is it stopped?", pid)
	case err != nil:
		return nil, fmt.Errorf("fitrun %d gives no answer: %w", pid, err)
	case a.Error != "":
		return nil, errors.New(a.Error)
	}
	return a, nil
}

func converse(conn net.Conn, want string) (*Answer, error) {
	q, err := json.Marshal(question{version, want})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(q, '\n')); err != nil {
		return nil, err
	}
	line, err := readLine(conn, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("it hangs up (%w)", err)
	}
	a := new(Answer)
	if err := json.Unmarshal(line, a); err != nil {
		return nil, fmt.Errorf("it is malformed: %w", err)
	}
	return a, nil
}

// checkServer checks that the process at the other end is the one asked for, and this user's unless
// that is root.
func checkServer(conn net.Conn, pid int) error {
	peer, err := credentials(conn)
	if err != nil {
		return err
	}
	if int(peer.Pid) != pid {
		return fmt.Errorf("process %d has taken the name of fitrun %d; what it says would be no word of that", peer.Pid, pid)
	}
	if me := os.Geteuid(); me != 0 && int(peer.Uid) != me {
		return fmt.Errorf("process %d is another user's (uid %d)", pid, peer.Uid)
	}
	return nil
}

// explain says why a process has no Server.
func explain(pid int, dialErr error) error {
	if !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return fmt.Errorf("asking process %d: %w", pid, dialErr)
	}
	var st syscall.Stat_t
	dir := "/proc/" + strconv.Itoa(pid)
	if err := syscall.Stat(dir, &st); err != nil {
		return fmt.Errorf("there is no process %d", pid)
	}
	if me := os.Geteuid(); me != 0 && int(st.Uid) != me {
		return fmt.Errorf("process %d is another user's (uid %d)", pid, st.Uid)
	}
	comm, _ := os.ReadFile(dir + "/comm")
	name := strings.TrimSpace(string(comm))
	if parent := parentOf(dir); parent > 1 && hasServer(parent) {
		return fmt.Errorf("process %d (%s) is not a fitrun, but was started by one: ask fitrun status %d", pid, name, parent)
	}
	if name == "fitrun" {
		return fmt.Errorf("fitrun %d cannot be asked: it runs no job, or is of a version that has no status yet", pid)
	}
	return fmt.Errorf("process %d (%s) is not a fitrun", pid, name)
}

// parentOf is the parent of a process, by its directory in /proc; 0 if that is not known.
func parentOf(dir string) int {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // the name may contain anything
	if len(fields) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(fields[1])
	return pid
}

func hasServer(pid int) bool {
	pids, err := servers()
	return err == nil && slices.Contains(pids, pid)
}

// servers are the processes that have a Server, or the name of whose socket another process has
// taken.
func servers() ([]int, error) {
	space, err := namespace()
	if err != nil {
		return nil, err
	}
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, fmt.Errorf("looking for fitruns: %w", err)
	}
	var pids []int
	for line := range strings.Lines(string(table)) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), " @"+space)
		if pid, err := strconv.Atoi(name); ok && err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil // a connection has the name of its server's socket too
}

// List asks all fitruns that this user may ask what they are, each for a second at most. Those that
// do not answer are left out.
func List(ctx context.Context) ([]*Answer, error) {
	pids, err := servers()
	if err != nil {
		return nil, err
	}
	var as []*Answer
	for _, pid := range pids {
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		if a, err := Ask(bounded, pid, Who); err == nil {
			as = append(as, a)
		}
		cancel()
	}
	slices.SortFunc(as, func(a, b *Answer) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.PID, b.PID)) })
	return as, nil
}
