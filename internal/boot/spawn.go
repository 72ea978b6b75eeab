package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// ParentVariable is the environment variable by which ranks that were spawned know the port of
// those that have spawned them. It is a secret: see package port.
const ParentVariable = "FITMPI_PARENT_PORT"

// Order is what a rank asks its launcher to start: a job whose ranks find those of this job at a
// port (MPI 4.1, section 11.8).
type Order struct {
	Programs []OrderedProgram `json:"programs"`
	Parent   string           `json:"parent"` // the name of the port
}

// OrderedProgram is one program of an Order, with so many ranks of its own.
type OrderedProgram struct {
	Args     []string `json:"args"`               // the program first: a binary, or a Go package
	Ranks    int      `json:"ranks"`              // at least 1
	Dir      string   `json:"wdir,omitempty"`     // where its ranks begin; empty: where those of this job did
	Path     string   `json:"path,omitempty"`     // directories in which to look for the program, before PATH
	Hosts    string   `json:"hosts,omitempty"`    // where they may run, as of fitrun -H; empty: as this job
	HostFile string   `json:"hostfile,omitempty"` // the same as of fitrun --hostfile
}

// ErrCannotSpawn is the error of Spawn where there is no launcher that could.
var ErrCannotSpawn = errors.New("only fitrun can start more ranks: start the job with fitrun")

// SpawnError is why a launcher has not started what was ordered.
type SpawnError struct{ Text string }

func (e *SpawnError) Error() string { return e.Text }

// Spawn asks the launcher to start a job, and waits until its processes have been started, or it
// has said that they cannot be (a SpawnError), until ctx ends, or the launcher is gone.
func Spawn(ctx context.Context, s Session, o *Order) error {
	link, ok := s.(*session)
	if !ok || link.other != launcherName {
		return ErrCannotSpawn
	}
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("boot: %w", err)
	}
	if len(data) > MaxAnswer {
		return fmt.Errorf("boot: the programs to start and their arguments take %d bytes, at most %d are possible", len(data), MaxAnswer)
	}
	number, outcome := link.orders.enter()
	defer link.orders.leave(number)
	if err := link.sendWithin(ctx, message{Type: typeSpawn, Number: number, Data: data}); err != nil {
		return fmt.Errorf("boot: asking %s to start ranks: %w", link.other, err)
	}
	select {
	case problem := <-outcome:
		if problem != "" {
			return &SpawnError{problem}
		}
		return nil
	case <-link.donec:
		return fmt.Errorf("boot: lost %s before it has started ranks", link.other)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ReadOrder reads the Data of a SpawnAsked. What a rank says may be anything.
func ReadOrder(data []byte) (*Order, error) {
	var o Order
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("the order is damaged: %w", err)
	}
	if len(o.Programs) == 0 {
		return nil, errors.New("no program is given")
	}
	ranks := 0
	for _, p := range o.Programs {
		if len(p.Args) == 0 || p.Args[0] == "" {
			return nil, errors.New("the program's name is empty")
		}
		if p.Ranks < 1 || p.Ranks > maxSize-ranks {
			return nil, fmt.Errorf("%d ranks of %s: at least 1 and at most %d are possible", p.Ranks, p.Args[0], maxSize)
		}
		ranks += p.Ranks
	}
	return &o, nil
}

// orders are those of a rank that its launcher has not executed yet.
type orders struct {
	mu      sync.Mutex
	last    int                   // guarded by mu
	waiting map[int]chan<- string // guarded by mu; by number
}

// enter makes room for the outcome of an order.
func (w *orders) enter() (number int, outcome <-chan string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	c := make(chan string, 1)
	if w.waiting == nil {
		w.waiting = make(map[int]chan<- string)
	}
	w.waiting[w.last] = c
	return w.last, c
}

func (w *orders) leave(number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, number)
}

// done tells what came of an order, once.
func (w *orders) done(number int, problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.waiting[number]; ok {
		delete(w.waiting, number)
		c <- problem
	}
}
