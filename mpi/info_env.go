//go:build linux

package mpi

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// InfoEnv tells how the calling rank of c was started: command and argv (the arguments,
// with a space between), maxprocs and soft (the number of ranks of the job), host, arch,
// wdir (the working directory) and thread_level. A key whose value is not known is not
// there. The result is the caller's own (MPI 4.1, section 11.2.1, MPI_INFO_ENV).
func InfoEnv(c *Comm) (*Info, error) {
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
