package main

import (
	"fmt"
	"path/filepath"
	"slices"
)

// maxRestarts is how often a job may be started again.
const maxRestarts = 1000

// withFT is the option for jobs that go on without the dead.
const withFT = "with-ft"

// ftKinds are the values that Open MPI's mpirun has for it and that mean the same here. They may
// stand behind the option as a word of their own, so a program of such a name is to be called by a
// path.
var ftKinds = []string{"ulfm", "mpi"}

// faultTolerance registers --with-ft, which may have a value behind "=".
func (r *registrar) faultTolerance(field *bool) {
	r.fs.BoolFunc(withFT, "", func(value string) error {
		if value != "true" && !slices.Contains(ftKinds, value) {
			return r.keep(fmt.Errorf("--with-ft=%s: give the option without a value, or ulfm", value))
		}
		*field = true
		r.note(givenOption{Name: dashed(withFT)})
		return r.keep(r.early(dashed(withFT)))
	})
}

// setRestartDir takes a directory that need not be there yet.
func (o *options) setRestartDir(name, value string) (err error) {
	if err := text(&o.restartDir, "/scratch/job1")(name, value); err != nil {
		return err
	}
	o.restartDir, err = filepath.Abs(value)
	return err
}
