package core

import "errors"

func (p *play) command(f []string) {
	a := args(f[1:])
	switch f[0] {
	case "ranks":
		p.ranks(a)
	case "connect":
		p.net.connect(a.route())
	case "send":
		p.send(a)
	case "recv":
		p.recv(a)
	case "probe", "mprobe":
		p.probe(f[0], a)
	case "iprobe":
		p.iprobe(a)
	case "cancel":
		x := p.named[a[0]]
		p.net.cores[x.rank].Cancel(x.m)
	case "abandon":
		x := p.named[a[0]]
		p.net.cores[x.rank].Abandon(x.m, errors.New("given up"), p.net.sinks(x.rank))
	case "write":
		l, r := a.route()
		p.say("%d bytes", p.net.write(l, r, a.num("bytes", 1<<30)))
	case "deliver":
		p.deliver(a)
	case "jobs":
		p.say("%d jobs", p.net.jobs(a.num("rank", 0)))
	case "run":
		p.net.run()
	case "cut":
		p.net.cut(a.route())
	case "bye":
		l, r := a.route()
		p.net.cores[l].Bye(PeerID(r))
	case "stop":
		p.net.cores[a.num("rank", 0)].Stop()
	case "stats":
		p.stats(a.num("rank", 0))
	case "attach":
		p.attached[a.num("rank", 0)] = NewAttached(make([]byte, a.num("len", 0)), a.has("automatic"))
	case "flush":
		p.flush(a)
	case "detach":
		p.say("closed %v", p.net.cores[a.num("rank", 0)].CloseAttached(p.attached[a.num("rank", 0)]))
	case "sched":
		p.sched(a)
	case "rest":
		p.net.wantRest("rest")
		p.say("nothing is left")
	default:
		p.t.Fatalf("no command %q", f[0])
	}
}

func (p *play) ranks(a args) {
	n := 0
	for _, ch := range a[0] {
		n = n*10 + int(ch-'0')
	}
	p.net = newNet(p.t, n, Config{
		ShortMax: a.num("short", 0), EagerMax: a.num("eager", 0), Window: a.num("window", 0),
		Chunk: a.num("chunk", 0), SendBuffer: a.num("buffer", 0), MaxMessage: a.num("most", 0),
	})
	p.net.trace = func(format string, args ...any) { p.say(format, args...) }
	if !a.has("apart") {
		p.net.connectAll()
	}
}

// send NAME 0->1 tag=3 len=10 [ctx=2] [sync] [copied] [attached] [bad]
func (p *play) send(a args) {
	from, to := a.route()
	tag := a.num("tag", 0)
	m := &MSO{Kind: KindSend, Peer: PeerID(to), Tag: Tag(tag), Ctx: ContextID(a.num("ctx", 0)), Buf: pattern(a.num("len", 0), tag)}
	if a.has("sync") {
		m.Mode = Synchronous
	}
	c := p.net.cores[from]
	switch {
	case a.has("copied"):
		if b, ok := c.Reserve(m.Peer, len(m.Buf)); ok {
			copy(b, m.Buf)
			j, work := c.PostCopied(m, b)
			p.maybeFinish(c, j, work)
			return
		}
		p.say("no room in the library buffer")
	case a.has("attached"):
		b, ok := c.ReserveAttached(p.attached[from], len(m.Buf))
		if !ok {
			p.say("no room in the attached buffer")
			return
		}
		copy(b.Mem, m.Buf)
		j, work := c.PostAttached(m, b)
		p.maybeFinish(c, j, work)
		return
	}
	p.add(a[0], &actor{rank: from, m: m})
	p.net.post(from, m)
}

// flush NAME [rank=0]
func (p *play) flush(a args) {
	rank := a.num("rank", 0)
	m := &MSO{Kind: KindGeneral}
	p.add(a[0], &actor{rank: rank, m: m})
	p.net.cores[rank].FlushAttached(p.attached[rank], m)
}

func (p *play) maybeFinish(c *Core, j Job, work bool) {
	if work {
		p.net.finish(c, &j)
	}
}

// recv NAME 1<-0 tag=3 len=10 [ctx=2] [alloc] [message=PROBE]
func (p *play) recv(a args) {
	at, from := a.route()
	m := &MSO{Kind: KindRecv, Peer: PeerID(from), Tag: Tag(a.num("tag", 0)), Ctx: ContextID(a.num("ctx", 0))}
	if a.has("alloc") {
		m.Alloc = func(n int) []byte { return make([]byte, n) }
	} else {
		m.Buf = make([]byte, a.num("len", 0))
	}
	for _, x := range a {
		if q := p.named[trim(x, "message=")]; q != nil && x != trim(x, "message=") {
			m.Message = q.m.Message
		}
	}
	p.add(a[0], &actor{rank: at, m: m})
	p.net.post(at, m)
}

func trim(s, prefix string) string {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

func (p *play) probe(kind string, a args) {
	at, from := a.route()
	m := &MSO{Kind: KindProbe, Peer: PeerID(from), Tag: Tag(a.num("tag", 0)), Ctx: ContextID(a.num("ctx", 0))}
	if kind == "mprobe" {
		m.Kind = KindMprobe
	}
	p.add(a[0], &actor{rank: at, m: m})
	p.net.post(at, m)
}

func (p *play) iprobe(a args) {
	at, from := a.route()
	u := p.net.cores[at].Iprobe(ContextID(a.num("ctx", 0)), PeerID(from), Tag(a.num("tag", 0)))
	if u == nil {
		p.say("no message")
		return
	}
	p.say("message from=%d tag=%d len=%d", u.Peer, u.Tag, u.Length)
}

// deliver 0->1 [frames=n] [bytes=n] writes everything, then lets the reader have so much.
func (p *play) deliver(a args) {
	from, to := a.route()
	if !a.has("only") {
		for p.net.write(from, to, 1<<30) > 0 {
		}
	}
	if _, err := p.net.deliver(from, to, a.num("bytes", 1<<30), a.num("frames", 1<<30)); err != nil {
		p.say("error: %v", err)
	}
}

func (p *play) stats(rank int) {
	c := p.net.cores[rank]
	s := c.Stats()
	p.say("rank %d: active=%d posted=%d events=%d buffer=%d slabs=%d detached=%d unexpected=%d stalls=%d sent=%d/%d/%d",
		rank, s.Active, s.Posted, s.EventQueue, s.BufferUsed, s.SlabsUsed, s.Detached, s.Unexpected, s.CreditStalls,
		c.sent(Short), c.sent(Eager), c.sent(Rendezvous))
	for _, q := range c.peers {
		if q.ID != c.cfg.Self {
			p.say("  to %d: credit=%d owed=%d queued=%d", q.ID, q.credit, q.owed, q.queued)
		}
	}
}

// sent is how many messages went to other ranks by a protocol.
func (c *Core) sent(by Protocol) (n uint64) {
	for _, p := range c.peers {
		if p.ID != c.cfg.Self {
			n += p.sent[by].Messages
		}
	}
	return n
}

// sched NAME rank=0 KIND: a few schedules of three ranks and two.
func (p *play) sched(a args) {
	rank := a.num("rank", 0)
	peers := make([]PeerID, len(p.net.cores))
	for i := range peers {
		peers[i] = PeerID(i)
	}
	s := NewSchedule(1, 0, peers)
	build := schedules[a[len(a)-1]]
	if build == nil {
		p.t.Fatalf("no schedule %q", a[len(a)-1])
	}
	build(p, s, rank)
	p.add(a[0], &actor{rank: rank, m: &s.MSO, s: s})
	p.net.cores[rank].StartSchedule(s)
}

var schedules = map[string]func(*play, *Schedule, int){
	// exchange: both ranks send and receive, then look at what came.
	"exchange": func(p *play, s *Schedule, rank int) {
		in := make([]byte, 4)
		a := s.Recv(1-rank, in)
		b := s.Send(1-rank, []byte{byte(rank), 1, 2, 3})
		s.Do(func() error { p.say("rank %d: got %v", rank, in); return nil }, a, b)
	},
	// diamond: two local steps after one and before another.
	"diamond": func(p *play, s *Schedule, _ int) {
		do := func(name string) func() error { return func() error { p.say("step %s", name); return nil } }
		top := s.Do(do("top"))
		l, r := s.Do(do("left"), top), s.Do(do("right"), top)
		s.Do(do("bottom"), l, r)
	},
	// fail and panic: a receive that never comes, and a step that goes wrong.
	"fail": func(_ *play, s *Schedule, rank int) {
		s.Recv(1-rank, make([]byte, 4))
		s.Do(func() error { return errors.New("bad operand") })
		s.Do(func() error { panic("not reached") }, 1)
	},
	"panic": func(_ *play, s *Schedule, rank int) {
		s.Recv(1-rank, make([]byte, 4))
		s.Do(func() error { panic("user code") })
	},
	// offer sends a long message, then fails.
	"offer": func(_ *play, s *Schedule, rank int) {
		s.Send(1-rank, make([]byte, 100))
		s.Do(func() error { return errors.New("bad operand") })
	},
	// into receives what is as long as it is.
	"into": func(p *play, s *Schedule, rank int) {
		var data []byte
		a := s.RecvInto(1-rank, &data)
		s.Do(func() error { p.say("%d bytes", len(data)); return nil }, a)
	},
	// from sends what the step before has made.
	"from": func(_ *play, s *Schedule, rank int) {
		var data []byte
		a := s.Do(func() error { data = make([]byte, 77); return nil })
		s.SendFrom(1-rank, &data, a)
	},
	// give sends what exchange and fail want, short less.
	"give":  func(_ *play, s *Schedule, rank int) { s.Send(1-rank, make([]byte, 4)) },
	"short": func(_ *play, s *Schedule, rank int) { s.Send(1-rank, make([]byte, 3)) },
	// relay passes a message on, and wants another one, which is long.
	"relay": func(_ *play, s *Schedule, rank int) {
		in := make([]byte, 4)
		s.Send(1-rank, in, s.Recv(1-rank, in))
		s.Recv(1-rank, make([]byte, 100))
	},
	// ask sends less than relay wants, and what else it wants, and waits for its answer.
	"ask": func(_ *play, s *Schedule, rank int) {
		s.Send(1-rank, make([]byte, 3))
		s.Send(1-rank, make([]byte, 100))
		s.Recv(1-rank, make([]byte, 4))
	},
	// ply sends less than relay wants, and more messages than that, and waits for its answer.
	"ply": func(_ *play, s *Schedule, rank int) {
		s.Send(1-rank, make([]byte, 3))
		for range 3 {
			s.Send(1-rank, make([]byte, 100))
		}
		s.Recv(1-rank, make([]byte, 4))
	},
	// broken cannot do its part of exchange.
	"broken": func(_ *play, s *Schedule, rank int) {
		s.Recv(1-rank, make([]byte, 4))
		s.Send(1-rank, make([]byte, 4))
		s.Broken = errors.New("bad operand")
	},
	"self": func(_ *play, s *Schedule, rank int) {
		s.Send(rank, []byte{1, 2})
		s.Recv(rank, make([]byte, 2))
	},
	"nothing": func(*play, *Schedule, int) {},
}
