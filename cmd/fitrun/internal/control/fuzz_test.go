//go:build linux

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
)

// FuzzQuestion: whatever a process of the user asks, it gets one line that says which process
// answers, or nothing. The job is asked only for what is known.
func FuzzQuestion(f *testing.F) {
	for _, want := range []string{Who, Text, Data, "", "more"} {
		line, err := json.Marshal(question{version, want})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(line, '\n'))
	}
	f.Add([]byte(`{"Version":2,"Want":"who"}` + "\n"))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var asked []string
		d := &Server{ctx: t.Context(), answer: func(_ context.Context, want string) Answer {
			asked = append(asked, want)
			return Answer{Program: "p", Ranks: 2, Data: json.RawMessage(`{}`)}
		}}
		out := d.answerTo(line)
		if len(asked) > 1 || len(asked) == 1 && !slices.Contains([]string{Who, Text, Data}, asked[0]) {
			t.Fatalf("%q asks the job for %q", line, asked)
		}
		if out == nil {
			return
		}
		var a Answer
		if err := json.Unmarshal(out, &a); err != nil || bytes.IndexByte(out, '\n') != len(out)-1 || a.PID != os.Getpid() || (a.Error == "") != (len(asked) == 1) {
			t.Fatalf("%q is answered by %q, %v, and the job was asked for %q", line, out, err, asked)
		}
	})
}

// FuzzAnswer: whatever comes from a process that holds the name of a fitrun, the asker gets an
// answer or an error.
func FuzzAnswer(f *testing.F) {
	for _, a := range []Answer{
		{Version: version, PID: 7, Program: "p", Ranks: 3, Text: "all is well"}, {Version: version, PID: 7, Data: json.RawMessage(`[1]`)}, {Error: "no"},
	} {
		line, err := json.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(line, '\n'))
	}
	f.Add([]byte("{\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		served := make(chan error, 1)
		go func() { // ends with the conversation
			defer theirs.Close()
			if _, err := readLine(theirs, maxQuestion); err != nil {
				served <- err
				return
			}
			_, err := theirs.Write(b)
			if errors.Is(err, io.ErrClosedPipe) { // it has read a line, and no more
				err = nil
			}
			served <- err
		}()
		a, err := converse(ours, Who)
		ours.Close()
		if err := <-served; err != nil {
			t.Fatalf("the question: %v", err)
		}
		if (a == nil) == (err == nil) {
			t.Fatalf("%q gives %+v, %v", b, a, err)
		}
	})
}
