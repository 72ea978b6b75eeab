package boot

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Version is the version of the protocol that this package speaks.
const Version = 1

// Limits of the protocol. They fit together: the largest text, each byte escaped to six, and the
// largest card in base64 stay below maxLine.
const (
	maxLine  = 64 << 10 // bytes of one message, newline included
	maxText  = 8 << 10  // bytes of an abort's or event's text; longer ones are cut by the sender
	maxKey   = 64       // bytes of a report's key
	maxValue = 1 << 10  // bytes of a report's value
	maxBound = 16 << 10 // bytes of a list of processors; a longer one is left out
	maxRoam  = 4 << 10  // the same where messages are moved
	maxSize  = 1 << 20  // ranks of one job
	maxLocal = 1 << 16  // ranks that can be listed; a list with others is left out
	maxList  = 4 << 10  // bytes of a list of ranks; a longer one is left out

	// MaxCard is the size in bytes of the largest card that Exchange accepts.
	MaxCard = 16 << 10
	// SecretSize is the size in bytes of the job's secret.
	SecretSize = 32
	// MaxAnswer is the size in bytes of the longest answer, which is JSON, to a question.
	MaxAnswer = 60 << 10
)

var errLineTooLong = fmt.Errorf("message longer than %d bytes", maxLine)

type msgType string

const (
	typeWelcome    msgType = "welcome"
	typeCards      msgType = "cards"
	typeEvent      msgType = "event"
	typeHello      msgType = "hello"
	typeCard       msgType = "card"
	typeFinalizing msgType = "finalizing"
	typeAbort      msgType = "abort"
	typeReport     msgType = "report"
	typeAnswer     msgType = "answer"
	typeBell       msgType = "bell" // both ways
	typeSuspect    msgType = "suspect"
	typeJoin       msgType = "join" // the first word of a rank that has dialled rank 0
	typeRefused    msgType = "refused"
	typeSpawn      msgType = "spawn"
)

// message is any line of the protocol; which fields count depends on Type, see the package comment.
type message struct {
	Type        msgType           `json:"type"`
	Version     int               `json:"v,omitempty"`
	Rank        int               `json:"rank,omitempty"`
	Size        int               `json:"size,omitempty"`
	LocalRank   int               `json:"local_rank,omitempty"`
	LocalSize   int               `json:"local_size,omitempty"`
	Job         string            `json:"job,omitempty"`
	Secret      []byte            `json:"secret,omitempty"`
	Host        string            `json:"host,omitempty"`
	Cores       int               `json:"cores,omitempty"`
	Universe    int               `json:"universe,omitempty"`
	Metrics     bool              `json:"metrics,omitempty"`
	MetricsAddr string            `json:"metrics_addr,omitempty"`
	Process     int               `json:"process,omitempty"`
	ProcRanks   int               `json:"process_ranks,omitempty"`
	Bound       string            `json:"bound,omitempty"`
	Roam        string            `json:"roam,omitempty"`
	Net         *netMessage       `json:"net,omitempty"`
	App         int               `json:"app,omitempty"`
	Watched     bool              `json:"watched,omitempty"`
	FT          bool              `json:"ft,omitempty"`
	Attempt     int               `json:"attempt,omitempty"`
	Given       map[string]string `json:"given,omitempty"`
	FDs         []string          `json:"fds,omitempty"`
	PID         int               `json:"pid,omitempty"`
	Card        []byte            `json:"card,omitempty"`
	First       int               `json:"first,omitempty"`
	Cards       [][]byte          `json:"cards,omitempty"`
	Event       string            `json:"event,omitempty"`
	Code        int               `json:"code,omitempty"`
	Key         string            `json:"key,omitempty"`
	Text        string            `json:"text,omitempty"`
	Local       string            `json:"near,omitempty"`
	Number      int               `json:"number,omitempty"`
	Data        json.RawMessage   `json:"data,omitempty"`
	Place       *place            `json:"place,omitempty"`
	Kin         string            `json:"kin,omitempty"`
	KinFirst    int               `json:"kin_first,omitempty"`
	Root        string            `json:"root,omitempty"`
}

// appendMessage appends m as one line.
func appendMessage(b []byte, m message) []byte {
	line, err := json.Marshal(m)
	if err != nil {
		panic("boot: a message that cannot be encoded: " + err.Error())
	}
	return append(append(b, line...), '\n')
}

// readLine returns the next line of r without its newline. The slice is valid until the next read.
// r must have been made with a buffer of maxLine bytes. A last line without newline is
// io.ErrUnexpectedEOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errLineTooLong
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, io.ErrUnexpectedEOF
	default:
		return nil, err
	}
}

// consumeFromLauncher decodes and checks a line that a rank received.
func consumeFromLauncher(line []byte) (message, error) {
	m, err := consumeMessage(line)
	if err != nil {
		return m, err
	}
	switch m.Type {
	case typeWelcome:
		return m, m.checkWelcome()
	case typeCards:
		return m, m.checkCards()
	case typeEvent:
		return m, m.checkEvent()
	case typeBell:
		return m, m.checkBell()
	case typeRefused:
		return m, m.checkText(maxText)
	default:
		return m, fmt.Errorf("unexpected message of type %q from the launcher", clip(string(m.Type), maxKey))
	}
}

// consumeFromRank decodes and checks a line that a launcher received.
func consumeFromRank(line []byte) (message, error) {
	m, err := consumeMessage(line)
	if err != nil {
		return m, err
	}
	switch m.Type {
	case typeJoin:
		return m, m.checkJoin()
	case typeHello:
		return m, m.checkVersion()
	case typeCard:
		if len(m.Card) > MaxCard {
			return m, fmt.Errorf("card of %d bytes; at most %d are allowed", len(m.Card), MaxCard)
		}
		return m, nil
	case typeFinalizing:
		return m, nil
	case typeAbort:
		return m, m.checkText(maxText)
	case typeReport:
		if m.Key == "" || len(m.Key) > maxKey {
			return m, fmt.Errorf("report with a key of %d bytes; 1 to %d are allowed", len(m.Key), maxKey)
		}
		return m, m.checkText(maxValue)
	case typeAnswer, typeSpawn:
		return m, checkAnswer(m.Data)
	case typeBell:
		return m, m.checkBell()
	case typeSuspect:
		return m, m.checkSuspect()
	default:
		return m, fmt.Errorf("unexpected message of type %q from a rank", clip(string(m.Type), maxKey))
	}
}

func consumeMessage(line []byte) (message, error) {
	var m message
	if len(line) >= maxLine {
		return m, errLineTooLong
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("malformed message: %w", err)
	}
	if len(m.FDs) > maxFDs {
		return m, fmt.Errorf("message with %d descriptors; at most %d are allowed", len(m.FDs), maxFDs)
	}
	return m, nil
}

func (m message) checkVersion() error {
	if m.Version != Version {
		return fmt.Errorf("boot protocol version %d at the other end, %d here: use a program and a fitrun of one FitMPI version", m.Version, Version)
	}
	return nil
}

func (m message) checkWelcome() error {
	if err := m.checkVersion(); err != nil {
		return err
	}
	switch {
	case m.Size < 1 || m.Size > maxSize:
		return fmt.Errorf("job of %d ranks; 1 to %d are allowed", m.Size, maxSize)
	case m.Rank < 0 || m.Rank >= m.Size:
		return fmt.Errorf("rank %d in a job of %d", m.Rank, m.Size)
	case m.LocalSize < 1 || m.LocalSize > m.Size || m.LocalRank < 0 || m.LocalRank >= m.LocalSize:
		return fmt.Errorf("local rank %d of %d in a job of %d", m.LocalRank, m.LocalSize, m.Size)
	case len(m.Secret) != SecretSize:
		return fmt.Errorf("secret of %d bytes, want %d", len(m.Secret), SecretSize)
	case m.Cores < 1:
		return fmt.Errorf("%d cores for a rank; each has 1 or more", m.Cores)
	case m.Universe != 0 && m.Universe < m.Size || m.Universe > maxSize:
		return fmt.Errorf("room for %d ranks in a job of %d; the room is 0, if it is not known, or %d to %d", m.Universe, m.Size, m.Size, maxSize)
	case m.ProcRanks < 1 || m.ProcRanks > m.LocalSize || m.Process < 0 || m.Process >= m.LocalSize:
		return fmt.Errorf("process %d with %d ranks on a host with %d ranks; processes count from 0, and each has 1 rank or more", m.Process, m.ProcRanks, m.LocalSize)
	case m.App < 0 || m.App >= m.Size:
		return fmt.Errorf("program %d of a job of %d ranks; programs count from 0, and each has 1 rank or more", m.App, m.Size)
	case m.Attempt < 0:
		return fmt.Errorf("attempt %d; they count from 0", m.Attempt)
	case m.KinFirst < 0 || len(m.Kin) > maxValue || len(m.Root) > maxValue:
		return fmt.Errorf("number %d of a job's rank 0, and names of %d and %d bytes; they count from 0, and at most %d bytes are allowed", m.KinFirst, len(m.Kin), len(m.Root), maxValue)
	case len(m.Bound) > maxBound:
		return fmt.Errorf("list of processors of %d bytes; at most %d are allowed", len(m.Bound), maxBound)
	case len(m.Roam) > maxRoam:
		return fmt.Errorf("list of processors for what moves messages of %d bytes; at most %d are allowed", len(m.Roam), maxRoam)
	}
	for _, list := range []string{m.Bound, m.Roam} {
		if _, err := sys.ParseCPUs(list); err != nil {
			return err
		}
	}
	if local, err := parseRanks(m.Local); err != nil || len(m.Local) > maxList || local != nil && (len(local) != m.LocalSize || local[m.LocalRank] != m.Rank) {
		return fmt.Errorf("ranks %.40q on the host of rank %d, which is local rank %d of %d", m.Local, m.Rank, m.LocalRank, m.LocalSize)
	}
	if _, err := decodeJob(m.Job); err != nil {
		return err
	}
	return m.Net.check()
}

func (m message) checkJoin() error {
	if err := m.checkVersion(); err != nil {
		return err
	}
	switch {
	case m.Size < 1 || m.Size > maxSize || m.Rank < 0 || m.Rank >= m.Size:
		return fmt.Errorf("rank %d joins a job of %d", m.Rank, m.Size)
	case m.Place == nil:
		return fmt.Errorf("rank %d does not say where it is", m.Rank)
	}
	return m.Place.check()
}

func (m message) checkBell() error {
	if m.Rank < 0 || m.Rank >= maxSize {
		return fmt.Errorf("bell of local rank %d; want 0 to %d", m.Rank, maxSize-1)
	}
	return nil
}

// formatRanks puts ascending ranks as "0-3,8".
func formatRanks(ranks []int) string { return sys.FormatCPUs(ranks) }

// parseRanks is the inverse of formatRanks.
func parseRanks(s string) ([]int, error) { return sys.ParseCPUs(s) }

func (m message) checkCards() error {
	if m.First < 0 || m.First > maxSize || len(m.Cards) == 0 {
		return fmt.Errorf("%d cards from rank %d on; want 1 or more, from rank 0 to %d on", len(m.Cards), m.First, maxSize)
	}
	for i, c := range m.Cards {
		if len(c) > MaxCard {
			return fmt.Errorf("card of rank %d of %d bytes; at most %d are allowed", m.First+i, len(c), MaxCard)
		}
	}
	return nil
}

func (m message) checkEvent() error {
	if _, ok := eventKindOf(m.Event); !ok {
		return fmt.Errorf("unknown event %q", clip(m.Event, maxKey))
	}
	if m.Rank < -1 || m.Rank >= maxSize {
		return fmt.Errorf("event about rank %d; want 0 to %d, or -1 if it is about none", m.Rank, maxSize-1)
	}
	return m.checkText(maxText)
}

func checkAnswer(data []byte) error {
	if len(data) == 0 || len(data) > MaxAnswer {
		return fmt.Errorf("answer of %d bytes; 1 to %d are allowed", len(data), MaxAnswer)
	}
	return nil
}

func (m message) checkText(limit int) error {
	if len(m.Text) > limit {
		return fmt.Errorf("text of %d bytes; at most %d are allowed", len(m.Text), limit)
	}
	return nil
}

func decodeJob(s string) (job [16]byte, err error) {
	if len(s) != hex.EncodedLen(len(job)) {
		return job, fmt.Errorf("job id of %d characters, want %d", len(s), hex.EncodedLen(len(job)))
	}
	if _, err := hex.Decode(job[:], []byte(s)); err != nil {
		return job, fmt.Errorf("job id: %w", err)
	}
	return job, nil
}

// clip returns valid UTF-8 of at most limit bytes from the start of s.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
