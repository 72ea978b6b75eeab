//go:build linux

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// record is all that a document is made from: what was measured, and where.
type record struct {
	Name     string      `json:"name,omitempty"` // of the machine, on the pages; empty: they say its processor
	Rows     []bench.Row `json:"-"`              // of all runs, in order
	Machine  machine     `json:"machine"`
	Date     string      `json:"date"` // 2006-01-02, when measuring began
	Repeats  int         `json:"repeats"`
	Bind     string      `json:"bind"`
	Partial  bool        `json:"partial"` // -quick or -only: no figures to quote
	Note     string      `json:"note"`    // what a reader must know besides; written by hand
	Minutes  float64     `json:"minutes"` // how long it took
	Failures []failure   `json:"failures"`
}

// failure is a run that gave no rows.
type failure struct {
	Experiment string `json:"experiment"`
	Contender  string `json:"contender"`
	Repeat     int    `json:"repeat"` // from 1
	Reason     string `json:"reason"`
}

func newRecord(opt *options, m machine, now time.Time) *record {
	return &record{Machine: m, Date: now.Format(time.DateOnly), Repeats: opt.repeats, Bind: opt.bind, Partial: opt.isPartial()}
}

// The files of a record, below bench/ of the directory of the document.
const (
	rowsFile = "rows.csv"
	runFile  = "run.json"
)

// save writes the record to dir.
func (r *record) save(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var rows bytes.Buffer
	if err := bench.WriteCSV(&rows, r.Rows); err != nil {
		return err
	}
	run, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		replace(filepath.Join(dir, rowsFile), rows.Bytes()),
		replace(filepath.Join(dir, runFile), append(run, '\n')),
	)
}

// title is what pages call the machine.
func (r *record) title() string {
	if r.Name != "" {
		return r.Name
	}
	return fmt.Sprintf("%s, %d cores", cmp.Or(r.Machine.CPU, "an unknown processor"), r.Machine.Cores)
}

// The rows of further machines are below machines/NAME beside those of the first one.
const machinesDir = "machines"

var machineName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// loadAll reads the rows in file, and those of further machines beside it, in the order of their
// names.
func loadAll(file string) ([]*record, error) {
	first, err := load(file)
	if err != nil {
		return nil, err
	}
	more, err := loadMore(filepath.Dir(file))
	return append([]*record{first}, more...), err
}

// loadMore reads the rows of further machines below dir.
func loadMore(dir string) ([]*record, error) {
	files, err := filepath.Glob(filepath.Join(dir, machinesDir, "*", rowsFile))
	if err != nil {
		return nil, err
	}
	var records []*record
	for _, file := range files {
		r, err := load(file)
		if err != nil {
			return nil, err
		}
		r.Name = filepath.Base(filepath.Dir(file))
		records = append(records, r)
	}
	return records, nil
}

// load reads rows from file and the rest of the record from run.json beside it. Rows
// without it make a document that cannot say where they come from.
func load(file string) (*record, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r := &record{}
	if r.Rows, err = bench.ReadCSV(in); err != nil {
		return nil, &fs.PathError{Op: "read", Path: file, Err: err}
	}
	run, err := os.ReadFile(filepath.Join(filepath.Dir(file), runFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(run, r)
}

// replace writes a file in one step, so that no reader finds half of it.
func replace(file string, data []byte) error {
	if err := os.WriteFile(file+".new", data, 0o666); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
