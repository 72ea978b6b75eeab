package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// fileHintsOf are hints for two phases with so many aggregators, and windows of some bytes.
func fileHintsOf(nodes, window int) *Info {
	info := InfoCreate()
	for key, value := range map[string]string{
		"romio_cb_write": "enable", "romio_cb_read": "enable", "cb_nodes": strconv.Itoa(nodes), "cb_buffer_size": strconv.Itoa(window),
	} {
		if err := info.Set(key, value); err != nil {
			panic(err)
		}
	}
	return info
}

// Ranks that take turns in a file, of more numbers than the suite has, through any number of
// aggregators and windows, leave what they wrote.
func TestFileTurns(t *testing.T) {
	for n := 6; n <= 9; n++ {
		for _, nodes := range []int{1, 4, n + 3} {
			name := filepath.Join(t.TempDir(), "file")
			const each = 1000
			err := RunThreads(n, func(_ context.Context, c *Comm) error {
				f, err := FileOpen(c, name, ModeCreate|ModeRdwr, fileHintsOf(nodes, 777*nodes))
				if err != nil {
					return err
				}
				number := TypeOf[uint32]()
				if err := f.SetView(4*c.Rank(), number, Resized(number, 0, 4*n), "external32", nil); err != nil {
					return err
				}
				mine, got := make([]uint32, each), make([]uint32, each)
				for i := range mine {
					mine[i] = uint32(i*n + c.Rank())
				}
				if _, err := FileWriteAll(f, mine); err != nil {
					return err
				}
				if err := Barrier(c); err != nil {
					return err
				}
				st, err := FileReadAtAll(f, 0, got)
				if err != nil || st.Count != each || !slices.Equal(got, mine) {
					return fmt.Errorf("read %d other values: %v", st.Count, err)
				}
				return f.Close()
			})
			b, rerr := os.ReadFile(name)
			if err := errors.Join(err, rerr); err != nil || len(b) != 4*n*each {
				t.Fatalf("%d ranks, %d aggregators: %d bytes, %v", n, nodes, len(b), err)
			}
			for i := range n * each {
				if got := int(b[4*i])<<24 | int(b[4*i+1])<<16 | int(b[4*i+2])<<8 | int(b[4*i+3]); got != i {
					t.Fatalf("%d ranks, %d aggregators: value %d is %d", n, nodes, i, got)
				}
			}
		}
	}
}
