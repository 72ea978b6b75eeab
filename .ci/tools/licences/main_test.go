package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecognise: terms that we accept pass; others, a mixture with others, and no terms at all do
// not.
func TestRecognise(t *testing.T) {
	bsd, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	const gpl = "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by " +
		"the Free Software Foundation, either version 3 of the License, or (at your option) any later version.\n"
	if ids, err := recognise(bsd, allowed); err != nil || len(ids) != 1 || ids[0] != "BSD-3-Clause" {
		t.Errorf("our own: %v, %v", ids, err)
	}
	for name, text := range map[string]string{
		"copyleft":            gpl,
		"mixed with copyleft": string(bsd) + "\n" + gpl,
		"nothing":             "",
		"unknown":             "You may use this on Tuesdays, if you ask my cat, who decides alone and gives no reasons. No cat, no use.",
		"mostly unknown":      string(bsd) + strings.Repeat("You may use this on Tuesdays, if you ask my cat, who decides alone and gives no reasons.\n", 30),
	} {
		if ids, err := recognise([]byte(text), allowed); err == nil {
			t.Errorf("%s: taken for %v", name, ids)
		}
	}
}

// TestNoLicence: a module without one is refused.
func TestNoLicence(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := licencesOf(module{Path: "example.org/x", Dir: dir}, allowed); err == nil {
		t.Error("accepted")
	}
}

// TestStale: the file is compared, and written when asked for.
func TestStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), notices)
	if settle(path, "a", false) == nil {
		t.Error("a file that is missing passes")
	}
	if err := settle(path, "a", true); err != nil {
		t.Fatal(err)
	}
	if err := settle(path, "a", false); err != nil {
		t.Error(err)
	}
	if settle(path, "b", false) == nil {
		t.Error("a stale file passes")
	}
}

// TestUTF8Of: an old text of Latin-1 keeps its letters, and one of UTF-8 is as it was.
func TestUTF8Of(t *testing.T) {
	for _, text := range []string{"copyright \xa9 1996", "copyright © 1996"} {
		if got := utf8Of([]byte(text)); got != "copyright © 1996" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
