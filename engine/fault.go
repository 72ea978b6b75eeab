package engine

// Revoke ends all that is under way in the contexts of the family of ctx, and refuses what is
// posted there, or arrives, from now on: see core.Shut. Posts complete with err, which must be
// ErrRevoked or have it as a cause. It informs no other rank, does not wait, and may be called from
// everywhere.
func (e *Engine) Revoke(ctx ContextID, err error) {
	mask := e.core.Config().Family
	e.command(command{kind: cmdShut, ctx: ctx & mask, mask: mask, err: err})
}

// Shut is Revoke of one context alone, because of err.
func (e *Engine) Shut(ctx ContextID, err error) {
	e.command(command{kind: cmdShut, ctx: ctx, mask: ^ContextID(0), err: err})
}

// Failed appends the peers that have failed to ids, in the order in which this rank has learnt of
// it.
func (e *Engine) Failed(ids []PeerID) []PeerID {
	e.mu.Lock()
	defer e.unlock()
	return e.core.Failed(ids)
}

// PeerGone returns why a peer is gone, nil if it is not.
func (e *Engine) PeerGone(id PeerID) *PeerError {
	e.mu.Lock()
	defer e.unlock()
	return e.core.PeerGone(id)
}

// Acknowledge says that the callers that receive from any source in the family of ctx know of the
// first n peers of Failed: such receives wait for others again.
func (e *Engine) Acknowledge(ctx ContextID, n int) {
	e.mu.Lock()
	e.core.AckFailed(ctx, n)
	e.unlock()
}

// Acknowledged is the greatest n that Acknowledge was given for the family of ctx.
func (e *Engine) Acknowledged(ctx ContextID) int {
	e.mu.Lock()
	defer e.unlock()
	return e.core.AckedFailed(ctx)
}

// Lost returns why a receive or probe by these arguments must not wait, nil if it may. member says
// which peers belong to the communicator.
func (e *Engine) Lost(ctx ContextID, peer PeerID, member func(PeerID) bool) error {
	e.mu.Lock()
	defer e.unlock()
	return e.core.Lost(ctx, peer, member)
}

// Forget says that schedules that start from now on in ctx will have the tags first to last.
// Messages with these were taken for nothing here if an earlier schedule had them and failed; now
// they are received again. It does not block.
func (e *Engine) Forget(ctx ContextID, first, last Tag) {
	e.mu.Lock()
	e.core.Forget(ctx, first, last)
	e.unlock()
}
