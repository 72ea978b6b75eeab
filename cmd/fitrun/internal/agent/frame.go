//go:build linux

package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Version is the version of the agent protocol that this package speaks.
const Version = 1

const (
	headerSize = 12
	maxPayload = 4 << 20 // bytes of one frame's payload; an environment is the longest that is not cut into pieces

	// everyHost in a frame means all hosts of the part of the tree that it is sent into.
	everyHost = 1<<32 - 1
)

// kind says what a frame is.
type kind uint8

const (
	// From fitrun to an agent.
	kindHello   kind = iota + 1 // hello: which host the agent is, and which hosts it reaches
	kindPrepare                 // prepare: the programs of the job
	kindFile                    // 32 bytes of hash, and a piece of the file that has it; an empty piece is its end
	kindProcess                 // crew.Process: the plan of one process
	kindStart                   // start: the plan is complete
	kindStop                    // no further process is to be started
	kindTell                    // tell: an event for a rank
	kindCards                   // cards: a part of the table
	kindDeal                    // rankOnly: send it all cards
	kindSignal                  // procSignal
	kindCensus                  // asks for kindGone
	kindCredit                  // credit: so much of a stream was taken; also from an agent, for standard input
	kindInput                   // a piece of standard input; an empty one is its end
	kindFinish                  // all processes have exited, or will not

	// Both ways, between neighbours.
	kindPing
	kindPause // the sender is about to be stopped: what it says not means nothing until kindResume

	// From an agent.
	kindFacts      // Facts
	kindPrepared   // prepared: which programs are there
	kindStored     // stored: a copied program is there
	kindStarted    // procPID
	kindNotStarted // procError
	kindNoticed    // rankNotice
	kindBroken     // rankError
	kindExited     // procExit
	kindOutput     // 4 bytes of proc, 1 of stream, and a piece of what it wrote; an empty piece is its end
	kindGone       // gone: the answer to kindCensus
	kindSay        // text, to be shown with --verbose
	kindLost       // text: the host has failed; also from the agent above it
	kindDone       // Use: nothing of the job is left, and how busy the host is then

	// Both ways.
	kindClock // clock: asks for the host's, and the answer

	kindExamine  // procOnly: asks for kindExamined; from fitrun
	kindExamined // procCondition: what was found; from an agent

	kindHalt     // all processes are to be stopped, until kindContinue; from fitrun
	kindContinue // they are to go on; from fitrun
	kindResume   // the sender was stopped, and is not any more; between neighbours

	kindEnd // no kind
)

// frame is one message of the protocol.
//
//	offset size
//	0      4    bytes of payload, at most maxPayload
//	4      1    version
//	5      1    kind
//	6      2    0
//	8      4    host: index in the job, of its addressee or its sender; everyHost; 0 between neighbours
//	12          payload
//	       1    newline
//
// All integers are little-endian. The newline is for what carries the frames: srun passes on what
// it hears by lines, so a frame without one at its end could wait for the next.
type frame struct {
	kind    kind
	host    uint32
	payload []byte
}

// appendFrame appends f.
func appendFrame(b []byte, f frame) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.payload)))
	b = append(b, Version, byte(f.kind), 0, 0)
	b = binary.LittleEndian.AppendUint32(b, f.host)
	return append(append(b, f.payload...), trailer)
}

// trailer is the end of every frame.
const trailer = '\n'

// consumeHeader decodes headerSize bytes. The result has no payload yet; size is that of what
// follows.
func consumeHeader(b []byte) (f frame, size int, err error) {
	n := binary.LittleEndian.Uint32(b)
	f = frame{kind: kind(b[5]), host: binary.LittleEndian.Uint32(b[8:])}
	switch {
	case b[4] != Version:
		return f, 0, fmt.Errorf("agent protocol version %d at the other end, %d here: use a fitrun and an agent of one FitMPI version", b[4], Version)
	case f.kind == 0 || f.kind >= kindEnd:
		return f, 0, fmt.Errorf("frame of unknown kind %d", b[5])
	case b[6] != 0 || b[7] != 0:
		return f, 0, errors.New("frame with reserved bytes that are not 0")
	case n > maxPayload:
		return f, 0, fmt.Errorf("frame of %d bytes; at most %d are allowed", n, maxPayload)
	}
	return f, int(n), nil
}

// readFrame reads one frame. io.EOF means that there is none, and no part of one.
func readFrame(r io.Reader) (frame, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	f, size, err := consumeHeader(header[:])
	if err != nil {
		return f, err
	}
	b, err := readPayload(r, size+1)
	if err == nil && b[size] != trailer {
		err = errors.New("frame without a newline at its end")
	}
	if err != nil {
		return frame{}, err
	}
	f.payload = b[:size]
	return f, nil
}

// readPayload reads size bytes, and takes memory as they come: a length that lies costs nothing.
func readPayload(r io.Reader, size int) ([]byte, error) {
	const step = 64 << 10
	var b []byte
	for len(b) < size {
		n := len(b)
		b = append(b, make([]byte, min(step, size-n))...)
		if _, err := io.ReadFull(r, b[n:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return b, nil
}
