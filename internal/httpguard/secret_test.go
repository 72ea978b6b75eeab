package httpguard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadSecret(t *testing.T) {
	text := strings.Repeat("ab+/", 9)
	for content, want := range map[string]string{
		text: text, text + "\n": text, " " + text + " \r\n": text, "a b " + text + "\t\n": "a b " + text,
		strings.Repeat(" ", 20) + text[:20]: "", text + "\x00": "", text + "\nmore": "", text + "é": "", "short": "",
	} {
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecret(file)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
}

// TestReadSecretRefuses: whole messages, which say what to do.
func TestReadSecretRefuses(t *testing.T) {
	text := strings.Repeat("ab+/", 9)
	const ascii = "it is to be given in a header of HTTP, so it must be printable ASCII: head -c 32 /dev/urandom | base64 makes such"
	for content, want := range map[string]string{
		strings.Repeat(" ", 20) + text[:20]: "it has 20 bytes without blanks at the ends: need 32 random bytes or more",
		text + "\x00":                       ascii, text + "\nmore": ascii, text + "é": ascii,
		"short": "it has 5 bytes: need 32 random bytes or more",
	} {
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSecret(file); err == nil || err.Error() != "secret file "+file+": "+want {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
}
