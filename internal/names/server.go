package names

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/port"
)

// request is what is asked of a server.
type request struct {
	Do      string `json:"do"` // publish, lookup or unpublish
	Service string `json:"service"`
	Port    string `json:"port,omitempty"`
}

// answer is what a server says.
type answer struct {
	Port  string `json:"port,omitempty"`
	Error string `json:"error,omitempty"` // empty if it was done
}

// remote is names at a server.
type remote struct{ server string }

// patience is how long a server may take.
const patience = 30 * time.Second

func (r *remote) ask(ctx context.Context, q request) (string, error) {
	if err := check(q.Service); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %v", patience))
	defer cancel()
	a, err := r.exchange(ctx, q)
	if err != nil {
		return "", fmt.Errorf("asking the name server (%s): %w", Variable, err)
	}
	for _, known := range []error{ErrTaken, ErrUnknown} {
		if a.Error == known.Error() {
			return "", known
		}
	}
	if a.Error != "" {
		return "", errors.New(a.Error)
	}
	return a.Port, nil
}

func (r *remote) exchange(ctx context.Context, q request) (a answer, err error) {
	data, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	link, err := port.Dial(ctx, r.server)
	if err != nil {
		return a, err
	}
	defer link.Close()
	if data, err = link.Exchange(ctx, data); err == nil { // the server's first word, which says nothing
		data, err = link.Exchange(ctx, nil)
	}
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

func (r *remote) Publish(ctx context.Context, service, port string) error {
	if err := checkPort(port); err != nil {
		return err
	}
	_, err := r.ask(ctx, request{"publish", service, port})
	return err
}

func (r *remote) Lookup(ctx context.Context, service string) (string, error) {
	return r.ask(ctx, request{"lookup", service, ""})
}

func (r *remote) Unpublish(ctx context.Context, service string) error {
	_, err := r.ask(ctx, request{"unpublish", service, ""})
	return err
}

// Server keeps names for the processes that know its port.
type Server struct {
	mu    sync.Mutex
	ports map[string]string // by service; guarded by mu
}

// mostNames bounds how many names a server keeps.
const mostNames = 1 << 16

// Serve answers at a port until ctx ends or the port is closed. Requests are answered side by side.
func (s *Server) Serve(ctx context.Context, p *port.Port) {
	var asked sync.WaitGroup
	defer asked.Wait()
	for {
		link, err := p.Accept(ctx)
		if err != nil {
			return
		}
		asked.Go(func() { // ends with ctx at the latest
			defer link.Close()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			s.answer(ctx, link)
		})
	}
}

func (s *Server) answer(ctx context.Context, link *port.Link) {
	data, err := link.Exchange(ctx, nil)
	if err != nil {
		return // it is gone
	}
	var q request
	var a answer
	if err = json.Unmarshal(data, &q); err == nil {
		a.Port, err = s.do(q)
	}
	if err != nil {
		a.Error = err.Error()
	}
	if data, err = json.Marshal(a); err == nil {
		_, _ = link.Exchange(ctx, data) // it hears, or is gone
	}
}

func (s *Server) do(q request) (string, error) {
	if err := check(q.Service); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	port, ok := s.ports[q.Service]
	switch {
	case q.Do == "publish" && ok:
		return "", ErrTaken
	case q.Do == "publish" && len(s.ports) >= mostNames:
		return "", fmt.Errorf("the name server has %d names already", mostNames)
	case q.Do == "publish":
		if err := checkPort(q.Port); err != nil {
			return "", err
		}
		if s.ports == nil {
			s.ports = make(map[string]string)
		}
		s.ports[q.Service] = q.Port
		return "", nil
	case !ok:
		return "", ErrUnknown
	case q.Do == "unpublish":
		delete(s.ports, q.Service)
		return "", nil
	case q.Do == "lookup":
		return port, nil
	}
	return "", fmt.Errorf("a name server knows nothing of %.40q", q.Do)
}
