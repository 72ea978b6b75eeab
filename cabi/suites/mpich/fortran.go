package main

import (
	"path/filepath"
	"strings"
)

// language is what the programs of a test are written in: "f90" or "f08", the first part of its
// directory, or "" for C.
func (t *test) language() string {
	switch first, _, _ := strings.Cut(t.dir, "/"); first {
	case "f90", "f08":
		return first
	}
	return ""
}

// fortranDirectories have programs in Fortran, for MPICH's modules and its library for Fortran.
func fortranDirectories() (all []string) {
	for _, language := range []string{"f90", "f08"} {
		for dir := range strings.FieldsSeq("attr coll comm datatype ext info init io misc pt2pt rma timer topo") {
			all = append(all, language+"/"+dir)
		}
	}
	return append(all, "f90/f90types", "f08/subarray")
}

// fortran is the compiler for Fortran that belongs to the one for C, and what it is given beside
// the sources of a test. Each program has a directory of its own, as modules become files.
func (b *builder) fortran(t *test, sources []string, path string) (compiler string, args []string) {
	compiler = strings.Replace(b.s.compiler, "mpicc", "mpifort", 1)
	util := filepath.Join(b.root, "util", "mtest_"+t.language()+".f90")
	args = append([]string{"-w", "-fallow-argument-mismatch", "-J", filepath.Dir(path), "-I" + filepath.Join(b.root, t.dir)}, b.flags...)
	return compiler, append(append(args, util), sources...)
}
