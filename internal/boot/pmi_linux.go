//go:build !fitmpi_portable

package boot

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/internal/boot/internal/pmi"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Keys in the launcher's key-value space. Values are in base64 without padding, in pieces: the
// first begins with the number of pieces and a dot. The others are under the key with "-1", "-2"
// and so on.
const (
	keyJob    = "fitmpi-job"    // id of the job, by rank 0
	keySecret = "fitmpi-secret" // by rank 0
	keyPlace  = "fitmpi-place-" // and the rank: a place in JSON
	keyCard   = "fitmpi-card-"  // and the rank
)

// maxPieces bounds what a rank believes; the longest card or place has fewer at the least length of
// values that pmi accepts.
const maxPieces = 1 << 10

// pmiSession is a session over a launcher that speaks PMI: what fitrun tells each rank, the ranks
// tell each other through its key-value space. It owns one goroutine, which waits for the
// launcher's end; Close stops it and waits. PMI has no way to tell of the death of a rank: its
// launchers end the job then.
type pmiSession struct {
	// immutable after openPMI
	info   Info
	client *pmi.Client
	say    *os.File
	events chan Event // closed by Close

	exchanged  atomic.Bool
	finalizing atomic.Bool
	watch      sync.WaitGroup
	closeOnce  sync.Once
	closeErr   error // guarded by closeOnce
}

// openPMI starts a session over client, which it takes over, also when it fails, and meets the
// other ranks of this host.
func openPMI(client *pmi.Client, c *claim, say *os.File) (Session, error) {
	s := &pmiSession{client: client, say: say, events: make(chan Event, 1)}
	if err := s.learn(context.Background(), c); err != nil {
		client.Close()
		return nil, fmt.Errorf("boot: %w", err)
	}
	s.watch.Go(s.await) // stopped by Close
	return withNeighbours(s, say, defaultPatience)
}

// learn fills info: rank 0 makes what the job has in common, and each says where it is. It waits
// for all ranks.
func (s *pmiSession) learn(ctx context.Context, c *claim) error {
	if c.rank == 0 {
		job, secret := NewJob()
		if err := errors.Join(s.put(ctx, keyJob, job[:]), s.put(ctx, keySecret, secret)); err != nil {
			return err
		}
	}
	me, err := json.Marshal(here())
	if err != nil {
		return err
	}
	if err := s.put(ctx, keyPlace+strconv.Itoa(c.rank), me); err != nil {
		return err
	}
	if err := s.client.Barrier(ctx); err != nil {
		return err
	}
	places := make([]place, c.size)
	for r := range places {
		if places[r], err = s.placeOf(ctx, r); err != nil {
			return err
		}
	}
	s.info = arrange(places)[c.rank]
	s.info.Source = c.source
	return s.learnJob(ctx)
}

func (s *pmiSession) learnJob(ctx context.Context) error {
	job, err := s.get(ctx, keyJob)
	if err != nil {
		return err
	}
	if s.info.Secret, err = s.get(ctx, keySecret); err != nil {
		return err
	}
	if len(job) != len(s.info.Job) || len(s.info.Secret) != SecretSize {
		return fmt.Errorf("job id of %d bytes and secret of %d from rank 0: want %d and %d", len(job), len(s.info.Secret), len(s.info.Job), SecretSize)
	}
	copy(s.info.Job[:], job)
	if s.info.AppNum, err = s.client.AppNum(ctx); err != nil {
		return err
	}
	universe, err := s.client.UniverseSize(ctx)
	if err == nil && universe >= s.info.Size {
		s.info.Universe = universe
	}
	return err
}

func (s *pmiSession) placeOf(ctx context.Context, rank int) (p place, err error) {
	b, err := s.get(ctx, keyPlace+strconv.Itoa(rank))
	if err != nil {
		return p, err
	}
	if err = json.Unmarshal(b, &p); err == nil {
		err = p.check()
	}
	if err != nil {
		return p, fmt.Errorf("where rank %d is: %w", rank, err)
	}
	return p, nil
}

// put stores b under key, in as many pieces as it takes.
func (s *pmiSession) put(ctx context.Context, key string, b []byte) error {
	text := base64.RawURLEncoding.EncodeToString(b)
	room := s.client.MaxValue()
	head := len(strconv.Itoa(maxPieces)) + 1
	pieces := 1
	if rest := len(text) - (room - head); rest > 0 {
		pieces += (rest + room - 1) / room
	}
	for i := range pieces {
		n := min(len(text), room)
		value := text[:n]
		if i == 0 {
			n = min(len(text), room-head)
			value = strconv.Itoa(pieces) + "." + text[:n]
		}
		if err := s.client.Put(ctx, pieceKey(key, i), value); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

func pieceKey(key string, i int) string {
	if i == 0 {
		return key
	}
	return key + "-" + strconv.Itoa(i)
}

// get is the inverse of put.
func (s *pmiSession) get(ctx context.Context, key string) ([]byte, error) {
	value, err := s.client.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	count, text, ok := strings.Cut(value, ".")
	pieces, err := strconv.Atoi(count)
	if err != nil || !ok || pieces < 1 || pieces > maxPieces {
		return nil, fmt.Errorf("the value of %q does not begin with a number of pieces from 1 to %d: %.20q", key, maxPieces, value)
	}
	var all strings.Builder
	all.WriteString(text)
	for i := 1; i < pieces; i++ {
		if value, err = s.client.Get(ctx, pieceKey(key, i)); err != nil {
			return nil, err
		}
		all.WriteString(value)
	}
	b, err := base64.RawURLEncoding.DecodeString(all.String())
	if err != nil {
		return nil, fmt.Errorf("the value of %q: %w", key, err)
	}
	return b, nil
}

// await tells the end of the launcher, if that is news.
func (s *pmiSession) await() {
	<-s.client.Lost()
	if err := s.client.Err(); !s.finalizing.Load() && !errors.Is(err, os.ErrClosed) {
		s.events <- Event{Kind: LauncherGone, Rank: -1, Message: "lost the launcher: " + err.Error(), Code: 1}
	}
}

func (s *pmiSession) Info() Info           { return s.info }
func (s *pmiSession) Events() <-chan Event { return s.events }

func (s *pmiSession) Exchange(ctx context.Context, card []byte) ([][]byte, error) {
	if err := checkCard(card); err != nil {
		return nil, err
	}
	if s.exchanged.Swap(true) {
		return nil, errExchanged
	}
	cards, err := s.exchange(ctx, card)
	if err != nil {
		return nil, fmt.Errorf("boot: exchanging addresses: %w", err)
	}
	return cards, nil
}

func (s *pmiSession) exchange(ctx context.Context, card []byte) ([][]byte, error) {
	if err := s.put(ctx, keyCard+strconv.Itoa(s.info.Rank), card); err != nil {
		return nil, err
	}
	if err := s.client.Barrier(ctx); err != nil {
		return nil, err
	}
	cards := make([][]byte, s.info.Size)
	for r := range cards {
		var err error
		if cards[r], err = s.get(ctx, keyCard+strconv.Itoa(r)); err != nil {
			return nil, err
		}
		if len(cards[r]) > MaxCard {
			return nil, fmt.Errorf("card of rank %d of %d bytes; at most %d are allowed", r, len(cards[r]), MaxCard)
		}
	}
	return cards, nil
}

func (s *pmiSession) Finalizing(ctx context.Context) error {
	if s.finalizing.Swap(true) {
		return nil // it is idle, and has said so before
	}
	if err := s.client.Finalize(ctx); err != nil {
		return fmt.Errorf("boot: telling the launcher of the end: %w", err)
	}
	return nil
}

// Abort shows the message here: the launcher takes a code, and no more.
func (s *pmiSession) Abort(code int, text string) error {
	fmt.Fprintf(s.say, "fitmpi: %s\n", abortText(s.info.Rank, os.Getpid(), s.info.Host, code, text))
	sys.AwaitRead(s.say, finalReport)
	if err := s.client.Abort(code); err != nil {
		return fmt.Errorf("boot: asking the launcher to abort the job: %w", err)
	}
	return nil
}

func (s *pmiSession) Report(key, value string) error {
	if key == MetricsKey {
		fmt.Fprintf(s.say, "fitmpi: rank %d serves metrics at http://%s/metrics\n", s.info.Rank, value)
	}
	return nil
}

func (s *pmiSession) Answer(int, []byte) error { return nil } // no PMI asks

func (s *pmiSession) Bell(int, func(*os.File)) error { return errNoBell }

func (s *pmiSession) Close() error {
	s.closeOnce.Do(func() {
		s.closeErr = s.client.Close()
		s.watch.Wait()
		close(s.events)
	})
	return s.closeErr
}
