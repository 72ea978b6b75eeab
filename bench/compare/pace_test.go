//go:build linux

package main

import "testing"

func TestStepsIn(t *testing.T) {
	const head = "test,peer,transport,policy,ranks,case,size,measure,unit,n,min,sextile1,sextile2,median,p99,max\n"
	const work = "solve,fitmpi,threads,assist,2,work-1,1048576,work,us,1,960,960,960,960,960,960\n"
	if steps, err := stepsIn(head + work + "solve,fitmpi,threads,assist,2,work-1,1048576,steps,1,1,540589,540589,540589,540589,540589,540589\n"); err != nil || steps != 540589 {
		t.Errorf("%d, %v, want 540589", steps, err)
	}
	for _, out := range []string{"", head + work, "nonsense"} {
		if steps, err := stepsIn(out); err == nil {
			t.Errorf("%d steps in %q", steps, out)
		}
	}
}
