package engine

import "github.com/fitmpi/fitmpi/engine/internal/core"

// Service takes the messages of a context as they arrive; see core.Service.
type Service = core.Service

// ServiceEvent is what a service is called for.
type ServiceEvent = core.ServiceEvent

// Serve begins s. From now on the goroutine that makes progress calls its handler, for one message
// after the other, without the mutex and perhaps with the progress right. The handler must not
// wait, and must post by the methods of s only.
//
// Preconditions:
//   - no message of its context can have arrived.
func (e *Engine) Serve(s *Service) {
	e.mu.Lock()
	if !e.stopping.Load() {
		e.core.Serve(s)
	}
	e.unlock()
	e.sitBack() // the worker rests no more
}

// EndService ends s. A handler that is just running ends soon.
func (e *Engine) EndService(s *Service) {
	e.mu.Lock()
	e.core.EndService(s)
	e.unlockPosted(leaves, nil)
}

// Sync is Poll, and makes what has been done in this rank's services visible to the caller.
func (e *Engine) Sync() {
	e.Poll()
	e.mu.Lock()
	e.unlock()
}
