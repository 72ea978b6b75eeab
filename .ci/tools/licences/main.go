// Command licences says under which licences the modules are that FitMPI is linked with, and fails
// if one has none that we know and can pass on. It is run in the root of the repository:
//
//	go run -C .ci/tools ./licences -root "$PWD"           # check, and compare with THIRD-PARTY.md
//	go run -C .ci/tools ./licences -root "$PWD" -update   # write THIRD-PARTY.md
//
// Modules that only tests and tools are built with are checked as well; THIRD-PARTY.md, which goes
// with every binary, holds the texts of the others.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/licensecheck"
)

// allowed are the licences, by SPDX identifier, that ask at most that their text, or the names of
// the authors, are passed on. OFL-1.1 is a licence of fonts, and FTL that of FreeType. Unlicense
// and CC0-1.0 ask for nothing.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC0-1.0", "FTL", "ISC", "MIT", "OFL-1.1", "Unlicense", "Zlib"}

// allowedInTests are the licences of modules that no binary of ours contains. MPL-2.0 asks the
// distributor of a program to show where the source of such parts is.
var allowedInTests = append([]string{"MPL-2.0"}, allowed...)

// choices are modules that leave us the choice between licences, in words that no tool knows: the
// file of what we choose.
var choices = map[string]choice{
	"github.com/golang/freetype": {file: "licenses/ftl.txt", id: "FTL", says: "your choice of exactly one of the following two licenses"},
}

type choice struct {
	file, id string
	says     string // in the file LICENSE, as long as there is this choice
}

// enough is how much of a text, in percent, must be a licence that is known. The rest names the
// holders of the copyright.
const enough = 75

// notices is the file of the texts that go with our binaries.
const notices = "THIRD-PARTY.md"

// module is what `go list` says of one.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// used is a module that something is linked with.
type used struct {
	module
	ids   []string // of its licences, sorted
	texts []string // of their files
}

func main() {
	root := flag.String("root", ".", "root of the repository")
	update := flag.Bool("update", false, "write "+notices)
	quiet := flag.Bool("quiet", false, "print only what is wrong")
	flag.Parse()
	stdout := io.Writer(os.Stdout)
	if *quiet {
		stdout = io.Discard
	}
	if err := run(*root, *update, stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(root string, update bool, stdout io.Writer) error {
	shipped, err := modulesOf(root, "./...")
	if err != nil {
		return err
	}
	all, err := modulesOf(root, "-test", "./...", "tool")
	if err != nil {
		return err
	}
	var wrong []error
	seen := make(map[string]bool)
	report := func(what string, mods []module, accepted []string) (found []used) {
		for _, m := range mods {
			if seen[m.Path] {
				continue
			}
			seen[m.Path] = true
			u, err := licencesOf(m, accepted)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s %s: %w", m.Path, m.Version, err))
				continue
			}
			fmt.Fprintf(stdout, "%-7s %-45s %s\n", what, m.Path, strings.Join(u.ids, ", "))
			found = append(found, u)
		}
		return found
	}
	linked := report("linked", shipped, allowed)
	report("tests", all, allowedInTests)
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	return settle(filepath.Join(root, notices), format(linked), update)
}

// modulesOf are the modules of all packages that these need, for Linux, without our own, by path.
func modulesOf(root string, args ...string) ([]module, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=Module"}, args...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOWORK=off", "PWD="+root)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	byPath := make(map[string]module)
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct{ Module *module }
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		if m := p.Module; m != nil && !m.Main {
			if m.Replace != nil {
				m.Dir = m.Replace.Dir
			}
			byPath[m.Path] = *m
		}
	}
	if len(byPath) == 0 {
		return nil, errors.New("go list knows no module")
	}
	mods := make([]module, 0, len(byPath))
	for _, m := range byPath {
		mods = append(mods, m)
	}
	slices.SortFunc(mods, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return mods, nil
}

// isLicence reports whether a file of this name, in the root of a module, holds terms. svgo's link
// names those of its LICENSE once more.
func isLicence(name string) bool {
	if name == "LICENSE-link.txt" {
		return false
	}
	name = strings.ToUpper(strings.TrimSuffix(name, filepath.Ext(name)))
	return strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING") || name == "UNLICENSE"
}

// licencesOf reads and recognises the terms of a module. All of its files must be accepted.
func licencesOf(m module, accepted []string) (used, error) {
	u := used{module: m}
	if c, ok := choices[m.Path]; ok {
		return u.choose(c)
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return u, err
	}
	for _, e := range entries {
		isNotice := strings.HasPrefix(e.Name(), "NOTICE") // Apache-2.0, section 4(d)
		if !e.Type().IsRegular() || !isNotice && !isLicence(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return u, err
		}
		if isNotice {
			u.texts = append(u.texts, utf8Of(text))
			continue
		}
		ids, err := recognise(text, accepted)
		if err != nil {
			return u, fmt.Errorf("%s: %w", e.Name(), err)
		}
		u.ids, u.texts = append(u.ids, ids...), append(u.texts, utf8Of(text))
	}
	if len(u.ids) == 0 {
		return u, errors.New("no licence in its root")
	}
	slices.Sort(u.ids)
	u.ids = slices.Compact(u.ids)
	return u, nil
}

// choose takes the licence that we choose, if the module still leaves the choice.
func (u used) choose(c choice) (used, error) {
	offer, err := os.ReadFile(filepath.Join(u.Dir, "LICENSE"))
	if err != nil {
		return u, err
	}
	if !strings.Contains(strings.Join(strings.Fields(string(offer)), " "), c.says) {
		return u, fmt.Errorf("LICENSE does not leave the choice any more: %q", c.says)
	}
	text, err := os.ReadFile(filepath.Join(u.Dir, c.file))
	u.ids, u.texts = []string{c.id}, []string{utf8Of(offer), utf8Of(text)}
	return u, err
}

// utf8Of is a text in UTF-8: one that is not is taken for Latin-1, as old licences are.
func utf8Of(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return string(runes)
}

// recognise names the licences that a text consists of, if all are accepted.
func recognise(text []byte, accepted []string) (ids []string, err error) {
	c := licensecheck.Scan(text)
	for _, match := range c.Match {
		if match.IsURL {
			continue
		}
		if !slices.Contains(accepted, match.ID) {
			return nil, fmt.Errorf("%s is not among the licences that we accept (%s)", match.ID, strings.Join(accepted, ", "))
		}
		ids = append(ids, match.ID)
	}
	if len(ids) == 0 || c.Percent < enough {
		return nil, fmt.Errorf("only %.0f%% of it is a licence that is known; want %d%%", c.Percent, enough)
	}
	return ids, nil
}

// format is the text of THIRD-PARTY.md.
func format(mods []used) string {
	var b strings.Builder
	b.WriteString("# Licences of others\n\nFitMPI itself is under [LICENSE](LICENSE). Programs that are built from this repository contain parts of the Go standard\n" +
		"library, which is under the licence of Go (BSD-3-Clause, in the root of every Go installation), and of the modules below.\n" +
		"A program that imports only `mpi` contains fewer: `go version -m PROGRAM` lists them.\n" +
		"Written by `go run -C .ci/tools ./licences -root \"$PWD\" -update`; `.ci/run licences` fails if it is stale.\n")
	for _, m := range mods {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", m.Path, strings.Join(m.ids, ", "))
		for _, text := range m.texts {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")))
		}
	}
	return b.String()
}

// settle writes the file, or compares it.
func settle(path, want string, update bool) error {
	if update {
		return os.WriteFile(path, []byte(want), 0o644)
	}
	has, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if string(has) != want {
		return fmt.Errorf("%s is stale: go run -C .ci/tools ./licences -root \"$PWD\" -update", notices)
	}
	return nil
}
