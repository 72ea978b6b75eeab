package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// source is the list of Debian's sources, for apt-get alone: what the machine has stays as it is.
const source = `Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`

// fetch gets MPICH's source into dir, and returns where it is.
func fetch(ctx context.Context, dir string) (string, error) {
	for _, d := range []string{"parts", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "parts", "debian.sources"), []byte(source), 0o644); err != nil {
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
