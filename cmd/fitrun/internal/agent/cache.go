//go:build linux

package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"
)

// keepFor is how long a copy stays that is not used.
const keepFor = 30 * 24 * time.Hour

// SumFile is the SHA-256 of a file in hexadecimal, and its size.
func SumFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// cache is the directory of an agent's host for copies of programs: one directory for each content,
// named for its hash. It is private to the user, as a process that can write there decides what
// runs.
type cache struct{ dir string }

// cacheOf is the cache that the prologue has put executable in, DIR/SUM/fitrun; that of the user if
// it is elsewhere.
func cacheOf(executable string) (cache, error) {
	sum := filepath.Base(filepath.Dir(executable))
	if _, err := hex.DecodeString(sum); err == nil && len(sum) == hex.EncodedLen(sumSize) {
		return cache{filepath.Dir(filepath.Dir(executable))}, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return cache{}, fmt.Errorf("looking for a place for copies of programs: %w", err)
	}
	c := cache{filepath.Join(dir, "fitmpi")}
	return c, os.MkdirAll(c.dir, 0o700)
}

// path is where the file with this sum is kept under a name.
func (c cache) path(sum, name string) string { return filepath.Join(c.dir, sum, name) }

// find returns the path of the copy with sum, "" if there is none that is whole.
func (c cache) find(sum, name string) string {
	path := c.path(sum, name)
	if got, _, err := SumFile(path); err != nil || got != sum {
		return ""
	}
	now := time.Now()
	os.Chtimes(filepath.Dir(path), now, now) // it is used; if not, it is only removed early
	return path
}

// clean removes the copies that were not used for long, but for the copy that keep is.
func (c cache) clean(keep string) {
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		st, err := e.Info()
		_, hexErr := hex.DecodeString(e.Name())
		if err != nil || hexErr != nil || len(e.Name()) != hex.EncodedLen(sumSize) || e.Name() == keep || time.Since(st.ModTime()) < keepFor {
			continue
		}
		os.RemoveAll(filepath.Join(c.dir, e.Name()))
	}
}

// copying is a file on its way into a cache.
type copying struct {
	to   string
	sum  string
	size int64
	f    *os.File
	hash hash.Hash
	got  int64
}

// begin makes room for a file of size bytes.
func (c cache) begin(sum, name string, size int64) (*copying, error) {
	to := c.path(sum, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return nil, fmt.Errorf("storing the program: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(to), "new-")
	if err != nil {
		return nil, fmt.Errorf("storing the program: %w", err)
	}
	return &copying{to: to, sum: sum, size: size, f: f, hash: sha256.New()}, nil
}

// write takes the next piece.
func (c *copying) write(piece []byte) error {
	c.got += int64(len(piece))
	if c.got > c.size {
		return fmt.Errorf("storing the program: more than %d bytes came", c.size)
	}
	c.hash.Write(piece)
	if _, err := c.f.Write(piece); err != nil {
		return fmt.Errorf("storing the program: %w", err)
	}
	return nil
}

// end puts the file in its place, if it is the right one.
func (c *copying) end() error {
	if sum := hex.EncodeToString(c.hash.Sum(nil)); sum != c.sum {
		c.abandon()
		return errors.New("storing the program: it was damaged on the way")
	}
	err := c.f.Chmod(0o700)
	err = errors.Join(err, c.f.Close())
	if err == nil {
		err = os.Rename(c.f.Name(), c.to)
	}
	if err != nil {
		os.Remove(c.f.Name())
		return fmt.Errorf("storing the program: %w", err)
	}
	return nil
}

func (c *copying) abandon() {
	c.f.Close()
	os.Remove(c.f.Name())
}
