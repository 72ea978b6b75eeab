package main

import (
	"context"
	"os"
	"path/filepath"
)

// dialects are the libraries with the interface of another, by the directory that has it.
var dialects = []struct{ dir, name string }{
	{"mpich", "libmpich.so.12"},
	{"openmpi", "libmpi.so.40"},
}

// dialectLibraries builds them. What they share is the C half with other names for its functions,
// which those libraries have themselves.
func dialectLibraries(ctx context.Context, out string) error {
	dir, err := os.MkdirTemp("", "fitmpi-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	inner := filepath.Join(dir, "inner.o")
	sources, err := filepath.Glob("chalf/*.c")
	if err != nil {
		return err
	}
	args := append(cFlags("-Iinclude", "-include", "chalf/inner_gen.h"), "-r", "-o", inner)
	if err := command(ctx, compiler(), append(args, sources...)...); err != nil {
		return err
	}
	for _, d := range dialects {
		if err := dialectLibrary(ctx, out, inner, d.dir, d.name); err != nil {
			return err
		}
	}
	return nil
}

func dialectLibrary(ctx context.Context, out, inner, dir, name string) error {
	args := append(cFlags("-Idialects", "-Idialects/"+dir), "-shared", "-Wl,-soname,"+name, "-Wl,-Bsymbolic-functions", "-Wl,--no-undefined",
		"-o", filepath.Join(out, "lib", name))
	for _, pattern := range []string{"dialects/*.c", "dialects/" + dir + "/*.c"} {
		sources, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		args = append(args, sources...)
	}
	return command(ctx, compiler(), append(args, inner, "-ldl", "-lpthread")...)
}
