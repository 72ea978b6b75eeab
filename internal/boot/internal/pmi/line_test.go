package pmi

import (
	"maps"
	"strings"
	"testing"
)

func TestConsumeLine(t *testing.T) {
	r, err := consumeLine("cmd=get_result  rc=0 msg=success value=(vector,(0,1,4)) empty= eq=a=b")
	want := map[string]string{"rc": "0", "msg": "success", "value": "(vector,(0,1,4))", "empty": "", "eq": "a=b"}
	if err != nil || r.cmd != "get_result" || !maps.Equal(r.fields, want) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestConsumeLineMalformed(t *testing.T) {
	for line, want := range map[string]string{
		"":                       `the line "" has no command`,
		"   ":                    `the line "   " has no command`,
		"cmd=":                   `the line "cmd=" has no command`,
		"rc=0 cmd=init":          `the line begins with "rc=0", want cmd=`,
		"mcmd=spawn":             `the line begins with "mcmd=spawn", want cmd=`,
		"cmd=init rc":            `the word "rc" is not key=value`,
		"cmd=init =0":            `the word "=0" is not key=value`,
		"cmd=init rc=0 rc=1":     `the key "rc" came twice`,
		"cmd=init cmd=finalize":  `the key "cmd" came twice`,
		"cmd=init\x00rc=0":       `the line "cmd=init\x00rc=0" has control characters`,
		"cmd=init\rcmd=finalize": `the line "cmd=init\rcmd=finalize" has control characters`,
	} {
		if _, err := consumeLine(line); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

// Whatever a launcher says: no panic, and what is accepted says again what it said.
func FuzzConsumeLine(f *testing.F) {
	for _, line := range []string{
		"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
		"cmd=get_result rc=-1 msg=key_x_not_found value=unknown", "cmd=set size=4", "cmd=a b=c=d", "=", "cmd= x", "cmd=x\ty=z",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		r, err := consumeLine(line)
		if err != nil {
			return
		}
		words := []string{"cmd=" + r.cmd}
		for k, v := range r.fields {
			if k == "" || k == "cmd" || strings.ContainsAny(k+v, " \t\n\r\x00") {
				t.Errorf("%q gives the field %q=%q", line, k, v)
			}
			words = append(words, k+"="+v)
		}
		again, err := consumeLine(strings.Join(words, " "))
		if err != nil || again.cmd != r.cmd || !maps.Equal(again.fields, r.fields) {
			t.Errorf("%q became %q, then %+v, %v", line, words, again, err)
		}
		r.want("maxes")
		r.number("size", 0, MaxSize)
	})
}
