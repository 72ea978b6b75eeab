//go:build linux

package launch

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// rankMain is a rank of the jobs in these tests. act is what it does, and for which rank: "exit" or
// "exit 1".
func rankMain(act string) {
	s, err := boot.Find(os.Environ())
	if err == nil && act != "silent" {
		_, err = s.Exchange(context.Background(), []byte(act))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	verb, who, _ := strings.Cut(act, " ")
	if verb == "leave" && err == nil {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = cmd.Start()
		if who != "" {
			verb, who = "wait", ""
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(97)
	}
	if who != "" && who != fmt.Sprint(s.Info().Rank) {
		verb = "wait"
	}
	if err := perform(s, verb); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
}

func perform(s boot.Session, verb string) error {
	info := s.Info()
	switch verb {
	case "silent":
		return nil
	case "where":
		fmt.Printf("rank %d of %d on %s: local %d of %d, remote %v\n",
			info.Rank, info.Size, os.Getenv("FAKE_HOST"), info.LocalRank, info.LocalSize, info.Net.Remote)
	case "cat":
		if n, err := io.Copy(os.Stdout, os.Stdin); err != nil || n > 0 && info.Rank != 0 {
			return fmt.Errorf("copied %d bytes: %v", n, err)
		}
	case "secret":
		if err := lookForSecret(info); err != nil {
			return err
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
	case "flood": // all write more than any buffer holds, but for the last, which fails
		if info.Rank == info.Size-1 {
			os.Exit(4)
		}
		for {
			if _, err := os.Stdout.Write(bytes.Repeat([]byte("flood\n"), 1000)); err != nil {
				return err
			}
		}
	case "consequence":
		return consequence(s)
	case "answer":
		for ev := range s.Events() {
			if ev.Kind == boot.Asked {
				if err := s.Answer(ev.Code, fmt.Appendf(nil, "[%d,%q]", info.Rank, ev.Message)); err != nil {
					return err
				}
				break
			}
		}
	case "paint":
		return errors.Join(s.Report("colour", "\x1b[31mred"), s.Abort(4, "\x1b[2Jover\nfitrun: all is well"), untilEnded(s))
	case "kill", "stop": // the agent that started it
		sig := map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[verb]
		return errors.Join(syscall.Kill(os.Getppid(), sig), untilEnded(s))
	case "wait":
		fmt.Println("waiting", os.Getpid())
		return untilEnded(s)
	}
	return errors.Join(s.Finalizing(context.Background()), s.Close())
}

func untilEnded(s boot.Session) error {
	for range s.Events() {
	}
	return nil
}

// consequence: rank 1 dies, and rank 0 aborts because it saw that through a file of its own, as mpi
// would.
func consequence(s boot.Session) error {
	fifo := os.Getenv("LAUNCH_TEST_FIFO")
	if s.Info().Rank == 1 {
		// Its exit is heard late, as the end of its output is waited for.
		late := exec.Command("sleep", "1000")
		late.Stdout, late.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		err := late.Start()
		_, fifoErr := os.OpenFile(fifo, os.O_WRONLY, 0)
		return errors.Join(err, fifoErr, syscall.Kill(os.Getpid(), syscall.SIGKILL))
	}
	f, err := os.Open(fifo)
	if err != nil {
		return err
	}
	io.Copy(io.Discard, f) // ends with rank 1
	s.Abort(5, "rank 1 failed")
	os.Exit(5)
	return nil
}

// lookForSecret looks wherever others could see it, in every process of this machine.
func lookForSecret(info boot.Info) error {
	var forms [][]byte
	for _, b := range [][]byte{info.Secret, info.Job[:]} {
		forms = append(forms, b, []byte(hex.EncodeToString(b)), []byte(base64.StdEncoding.EncodeToString(b)))
	}
	files, err := filepath.Glob("/proc/[0-9]*/*")
	for _, file := range files {
		if name := filepath.Base(file); name != "cmdline" && name != "environ" {
			continue
		}
		text, _ := os.ReadFile(file)
		for _, form := range forms {
			if bytes.Contains(text, form) {
				return fmt.Errorf("%s shows it: %q", file, text)
			}
		}
	}
	return err
}
