//go:build linux

package crew

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	var tl Tail
	for i := range 15 {
		tl.Feed(fmt.Appendf(nil, "line %d\n", i))
	}
	tl.Feed([]byte("panic: bo"))
	tl.Feed([]byte("om\r\n" + strings.Repeat("w", 2*tailWidth)))
	last, cause := tl.Lines()
	if len(last) != tailLines || last[0] != "line 7" || last[8] != "panic: boom" || len(last[9]) != tailWidth {
		t.Errorf("last lines %q", last)
	}
	if cause != "panic: boom" {
		t.Errorf("cause %q", cause)
	}
}
