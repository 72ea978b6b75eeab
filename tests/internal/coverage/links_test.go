package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every link of a document leads to a file that is there, and to a heading that it has; and every
// document that Go code names is there.

var (
	heading  = regexp.MustCompile(`^#{1,6} (.+)$`)
	quoted   = regexp.MustCompile("`[^`]*`")
	link     = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	markup   = regexp.MustCompile("[`*]|\\]\\([^)]*\\)|\\[")
	noAnchor = regexp.MustCompile(`[^\pL\pN_ -]`)
	named    = regexp.MustCompile(`\bdocs/[\w/-]+\.md\b`)
)

// prose returns the lines of a document by number, from 1, without fenced blocks.
func prose(text string) map[int]string {
	lines, fenced := make(map[int]string), false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case !fenced:
			lines[i+1] = line
		}
	}
	return lines
}

// anchors are the names of the headings of a document, as links give them.
func anchors(text string) []string {
	lines := prose(text)
	var all []string
	times := make(map[string]int)
	for n := range len(strings.Split(text, "\n")) {
		m := heading.FindStringSubmatch(lines[n+1])
		if m == nil {
			continue
		}
		name := noAnchor.ReplaceAllString(strings.ToLower(markup.ReplaceAllString(strings.TrimSpace(m[1]), "")), "")
		name = strings.ReplaceAll(name, " ", "-")
		if k := times[name]; k > 0 {
			all = append(all, name+"-"+strconv.Itoa(k))
		} else {
			all = append(all, name)
		}
		times[name]++
	}
	return all
}

// broken says what is wrong with a link of a document, "" if nothing is.
func broken(file, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	path, anchor, _ := strings.Cut(target, "#")
	to := file
	if path != "" {
		to = filepath.Join(filepath.Dir(file), path)
	}
	if _, err := os.Stat(to); err != nil {
		return "there is no such file"
	}
	if anchor == "" || filepath.Ext(to) != ".md" {
		return ""
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchors(string(text)), anchor) {
		return "there is no such heading"
	}
	return ""
}

func TestLinks(t *testing.T) {
	const root = "../../.."
	links, names := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "third_party"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md" && filepath.Ext(path) != ".go":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for n, line := range prose(string(b)) {
			if filepath.Ext(path) == ".go" {
				for _, name := range named.FindAllString(line, -1) {
					names++
					if _, err := os.Stat(filepath.Join(root, name)); err != nil {
						t.Errorf("%s:%d: %s: there is no such file", path, n, name)
					}
				}
				continue
			}
			for _, m := range link.FindAllStringSubmatch(quoted.ReplaceAllString(line, ""), -1) {
				links++
				if why := broken(path, m[1]); why != "" {
					t.Errorf("%s:%d: %s: %s", path, n, m[1], why)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 100 || names < 20 {
		t.Errorf("%d links and %d names of documents: too few to show anything", links, names)
	}
}

// TestBrokenLinks: a link is broken if its file or its heading is not there.
func TestBrokenLinks(t *testing.T) {
	const text = "# One two\n\n## `Code`, and [a link](x.md)\n\n## One two\n\n```\n# none\n```\n"
	file := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"#one-two": "", "#one-two-1": "", "a.md#code-and-a-link": "", "a.md": "", "https://example.org/#x": "",
		"b.md": "there is no such file", "#one": "there is no such heading", "a.md#none": "there is no such heading",
	} {
		if got := broken(file, target); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}
