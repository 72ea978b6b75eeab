package main

import (
	"flag"
	"testing"
)

// TestMeant: an unknown option that is nearly one there is, or one with its value, says so; another
// does not.
func TestMeant(t *testing.T) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	for _, name := range []string{"n", "np", "transport", "progress", "tls"} {
		fs.String(name, "", "")
	}
	for name, want := range map[string]string{
		"n4": ": did you mean -n 4?", "np16": ": did you mean -np 16?", "transprot": ": did you mean --transport?",
		"progres": ": did you mean --progress?", "bogus": "", "x": "", "4": "",
	} {
		if got := meant(name, fs); got != want {
			t.Errorf("-%s%q, want %q", name, got, want)
		}
	}
}
