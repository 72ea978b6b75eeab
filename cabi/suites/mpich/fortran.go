package main

import (
	"os"
	"path/filepath"
	"strings"
)

// language is what the program of a test is written in: "f90" or "f08", the first part of its
// directory, or "" for C, in which some programs of those directories are.
func (b *builder) language(t *test) string {
	first, _, _ := strings.Cut(t.dir, "/")
	if _, err := os.Stat(filepath.Join(b.root, t.dir, t.name+".c")); first != "f90" && first != "f08" || err == nil {
		return ""
	}
	return first
}

// isThere reports whether the tree has a source of the test: some of those in Fortran are made by
// MPICH's configure.
func (b *builder) isThere(t *test) bool {
	sources, _ := b.rule(t)
	for _, s := range sources {
		if _, err := os.Stat(s); err != nil && b.language(t) != "" {
			return false
		}
	}
	return true
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
	util := filepath.Join(b.root, "util", "mtest_"+b.language(t)+".f90")
	args = append([]string{"-w", "-fallow-argument-mismatch", "-J", filepath.Dir(path), "-I" + filepath.Join(b.root, t.dir)}, b.flags...)
	return compiler, append(append(args, util), sources...)
}
