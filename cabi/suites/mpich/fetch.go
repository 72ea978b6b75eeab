package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources writes the lists of packages that the machine has into dir, as lists of their sources,
// for apt-get alone: what the machine has stays as it is.
func sources(dir string) error {
	files, err := filepath.Glob("/etc/apt/sources.list.d/*")
	if err != nil {
		return err
	}
	for _, file := range append(files, "/etc/apt/sources.list") {
		b, err := os.ReadFile(file)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(ofSources(string(b))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ofSources is a list of packages as a list of their sources, in either format of apt.
func ofSources(list string) string {
	lines := strings.Split(list, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "Types:"):
			lines[i] = "Types: deb-src"
		case strings.HasPrefix(line, "deb "):
			lines[i] = "deb-src" + strings.TrimPrefix(line, "deb")
		}
	}
	return strings.Join(lines, "\n")
}

// fetch gets MPICH's source into dir, and returns where it is.
func fetch(ctx context.Context, dir string) (string, error) {
	for _, d := range []string{"parts", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	if err := sources(filepath.Join(dir, "parts")); err != nil {
		return "", err
	}
	apt := []string{
		"-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=" + filepath.Join(dir, "parts"),
		"-o", "Dir::State::Lists=" + filepath.Join(dir, "lists"), "-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
	}
	for _, args := range [][]string{{"update"}, {"--download-only", "source", "mpich"}} {
		if err := tell(ctx, dir, "apt-get", append(apt, args...)...); err != nil {
			return "", err
		}
	}
	archives, err := filepath.Glob(filepath.Join(dir, "mpich_*.orig.tar.*"))
	if err != nil || len(archives) == 0 {
		return "", fmt.Errorf("apt-get has left no source of MPICH in %s", dir)
	}
	if err := tell(ctx, dir, "tar", "xf", archives[0]); err != nil {
		return "", err
	}
	trees, err := filepath.Glob(filepath.Join(dir, "mpich-*"))
	if err != nil || len(trees) == 0 {
		return "", fmt.Errorf("%s has no source tree of MPICH", archives[0])
	}
	return trees[0], nil
}

// tell runs a command in dir.
func tell(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
