//go:build linux

package agent

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// prepare looks for the programs of the job.
func (a *agent) prepare(p prepare) error {
	a.threads.Go(func() { // reading large files takes a while
		var found []Found
		for _, prog := range p.Programs {
			f := findProgram(a.cache, prog)
			if f.Path == "" && f.Error == "" {
				a.mu.Lock()
				a.needed[prog.Sum] = prog
				a.mu.Unlock()
			}
			found = append(found, f)
		}
		a.send(kindPrepared, prepared{found})
	})
	return nil
}

// findProgram looks for a program and its directory on this host.
func findProgram(c cache, p Program) Found {
	var f Found
	f.Dir, f.NoDir, f.Error = findDir(p)
	if f.Error != "" {
		return f
	}
	name := filepath.Base(p.Path)
	candidates := []string{p.Path}
	for _, dir := range p.Search {
		candidates = append(candidates, filepath.Join(dir, name))
	}
	other := ""
	for _, path := range candidates {
		st, err := os.Stat(path)
		if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
			continue
		}
		if sum, _, err := SumFile(path); err == nil && sum == p.Sum {
			f.Path, f.Error = path, p.Foreign
			return f
		}
		if other == "" && canRun(ArchOfFile(path)) {
			other = path
		}
	}
	switch {
	case other != "" && !p.Preload:
		f.Path, f.Other = other, true
	case p.Foreign != "":
		f.Error = p.Foreign
	default:
		f.Path = c.find(p.Sum, name)
	}
	return f
}

// canRun reports whether this machine runs programs of an architecture, as ArchOfFile calls it.
func canRun(arch string) bool {
	switch runtime.GOARCH {
	case "amd64":
		return arch == "" || arch == "amd64" || arch == "386"
	case "arm64":
		return arch == "" || arch == "arm64" || arch == "arm"
	default:
		return arch == "" || arch == runtime.GOARCH
	}
}

// findDir finds the directory in which a program runs.
func findDir(p Program) (dir string, isHome bool, fault string) {
	st, err := os.Stat(p.Dir)
	switch {
	case err == nil && st.IsDir():
		return p.Dir, false, ""
	case p.MustDir && err == nil:
		return "", false, fmt.Sprintf("--wdir %s: not a directory", p.Dir)
	case p.MustDir:
		return "", false, fmt.Sprintf("--wdir %s: %v", p.Dir, errors.Unwrap(err))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return home, true, ""
}

// takeFile takes a piece of a file. One that is not needed here is for others.
func (a *agent) takeFile(b []byte) error {
	if len(b) < sumSize {
		return fmt.Errorf("piece of a file of %d bytes; it begins with the %d of its hash", len(b), sumSize)
	}
	sum, piece := hex.EncodeToString(b[:sumSize]), b[sumSize:]
	a.mu.Lock()
	p, isNeeded := a.needed[sum]
	a.mu.Unlock()
	if !isNeeded {
		return nil
	}
	path, err := a.storePiece(sum, p, piece)
	if err != nil || path != "" {
		a.mu.Lock()
		delete(a.needed, sum)
		a.mu.Unlock()
		delete(a.copies, sum)
		s := stored{Sum: sum, Path: path}
		if err != nil {
			s.Error = err.Error()
		}
		a.send(kindStored, s)
	}
	return nil
}

// storePiece returns the path of the file when it is complete.
func (a *agent) storePiece(sum string, p Program, piece []byte) (path string, err error) {
	c := a.copies[sum]
	if c == nil {
		if c, err = a.cache.begin(sum, filepath.Base(p.Path), p.Size); err != nil {
			return "", err
		}
		a.copies[sum] = c
	}
	if len(piece) == 0 {
		return c.to, c.end()
	}
	if err := c.write(piece); err != nil {
		c.abandon()
		return "", err
	}
	return "", nil
}
