package mpi

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
)

// How two groups meet that are of several jobs. The leaders have told each other their groups, and
// go on talking: they tell each other the cards of their ranks, and a secret that all of both
// groups then share. With that each rank introduces itself to those of the other group that it does
// not know. It returns only when all have done so, for a rank answers none that it was not told of.

// introduce lets the ranks of c, the local group, meet those of the other, members, in the order
// that low says. All ranks of both groups find the same outcome.
func (c *Comm) introduce(op string, leader int, tell talk, low bool, members []identity) *Error {
	cards, err := c.gatherCards(op, leader)
	if err != nil {
		return err
	}
	said := make([]greeting, 1)
	if c.rank == leader {
		said[0] = exchangeGreetings(tell, low, cards)
	}
	if err := done(ibcast(c, op, said, leader)); err != nil {
		return c.asError(op, err)
	}
	if said[0].Problem != "" {
		return opErrorf(ErrOther, op, "%s", said[0].Problem)
	}
	err = c.agreeMet(op, leader, tell, c.greet(low, members, &said[0]))
	if err == nil {
		c.watch(members)
	}
	return err
}

// exchangeGreetings tells the other leader the cards of this group, and returns what this group is
// to hear: the cards of the other.
func exchangeGreetings(tell talk, low bool, cards [][]byte) greeting {
	mine := newGreeting(cards)
	theirs, err := tellAs(tell, mine)
	switch {
	case err != nil:
		return greeting{Problem: fmt.Sprintf("talking to the other leader: %v", err)}
	case low:
		theirs.Name, theirs.Secret = mine.Name, mine.Secret
	}
	return theirs
}

// gatherCards gives the leader the cards of all ranks of c.
func (c *Comm) gatherCards(op string, leader int) ([][]byte, *Error) {
	var cards [][]byte
	if c.rank == leader {
		cards = make([][]byte, c.Size())
	}
	if err := done(igather(c, op, [][]byte{c.job.card}, cards, leader)); err != nil {
		return nil, c.asError(op, err)
	}
	return cards, nil
}

// asError is an error of a collective that has been reported, as that of op.
func (c *Comm) asError(op string, err error) *Error {
	return opError(classOr(err, ErrOther), op, err)
}

// greet introduces this rank to the other group.
func (c *Comm) greet(low bool, others []identity, g *greeting) error {
	if len(g.Cards) != len(others) {
		return fmt.Errorf("the other leader tells %d cards of %d ranks", len(g.Cards), len(others))
	}
	own := make([]identity, len(c.group))
	for r, id := range c.group {
		own[r] = c.job.processOf(id)
	}
	rank, none := c.rank, make([][]byte, len(own))
	if low {
		return c.job.meet(rank, slices.Concat(own, others), slices.Concat(none, g.Cards), g)
	}
	return c.job.meet(len(others)+rank, slices.Concat(others, own), slices.Concat(g.Cards, none), g)
}

// agreeMet waits until all ranks of both groups have met, or finds that one could not.
func (c *Comm) agreeMet(op string, leader int, tell talk, mine error) *Error {
	problem, err := c.firstProblem(op, mine)
	if err != nil {
		return err
	}
	said := []string{problem}
	if c.rank == leader {
		theirs, err := tell([]byte(problem))
		switch {
		case problem != "":
		case err != nil:
			said[0] = fmt.Sprintf("talking to the other leader: %v", err)
		case len(theirs) > 0:
			said[0] = "in the other group " + string(theirs)
		}
	}
	if err := done(ibcast(c, op, said, leader)); err != nil {
		return c.asError(op, err)
	}
	if said[0] != "" {
		return opErrorf(ErrOther, op, "%s", said[0])
	}
	return nil
}

// firstProblem is what the first rank of c has to say that has a problem; empty if none has.
func (c *Comm) firstProblem(op string, mine error) (string, *Error) {
	has := []byte{0}
	if mine != nil {
		has[0] = 1
	}
	all := make([]byte, c.Size())
	if err := done(iallgather(c, op, has, all)); err != nil {
		return "", c.asError(op, err)
	}
	first := bytes.IndexByte(all, 1)
	if first < 0 {
		return "", nil
	}
	text := []string{""}
	if c.rank == first {
		text[0] = fmt.Sprintf("rank %d: %v", first, mine)
	}
	if err := done(ibcast(c, op, text, first)); err != nil {
		return "", c.asError(op, err)
	}
	return text[0], nil
}

// greeting is what the leaders of two groups tell each other so that the groups can meet, and then
// their groups.
type greeting struct {
	Name, Secret []byte // of the meeting; those of the group that comes first count
	Cards        [][]byte
	Problem      string // why it cannot be; empty if it can
}

// newGreeting is a greeting of a group whose ranks have the cards.
func newGreeting(cards [][]byte) greeting {
	g := greeting{Name: make([]byte, jobLen), Secret: make([]byte, 32), Cards: cards}
	rand.Read(g.Name) // never fails: crypto/rand ends the program instead
	rand.Read(g.Secret)
	return g
}

// meet introduces this rank to those of the members of a meeting, by their ranks in it, that it
// does not know. Those of its own group have no card.
func (j *job) meet(rank int, members []identity, cards [][]byte, g *greeting) error {
	if len(g.Name) != jobLen {
		return fmt.Errorf("the name of the meeting has %d bytes, not %d", len(g.Name), jobLen)
	}
	var mine card
	if err := json.Unmarshal(j.card, &mine); err != nil {
		return err
	}
	var strangers []engine.Introduced
	var names []identity
	var numbers []int
	for r, p := range members {
		if _, known := j.peerOf(p); known || cards[r] == nil {
			continue
		}
		info, number, err := j.lookAt(&mine, p, cards[r])
		if err != nil {
			return err
		}
		in := engine.Introduced{Rank: r, Counted: number != beyond, PeerInfo: info}
		strangers, names, numbers = append(strangers, in), append(names, p), append(numbers, number)
	}
	if len(strangers) == 0 {
		return nil
	}
	a := &j.abroad
	a.introducing.Lock() // so that numbers and names come in one order
	defer a.introducing.Unlock()
	a.mu.Lock()
	a.names = append(a.names, names...) // before: what a peer says may come before Introduce returns
	a.addNumbersLocked(numbers)
	a.mu.Unlock()
	ids, err := j.engine.Introduce(engine.Meeting{Job: [jobLen]byte(g.Name), Secret: g.Secret, Rank: rank, Size: len(members)}, strangers)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.peers == nil {
		a.peers = make(map[identity]engine.PeerID)
	}
	for i, p := range names {
		a.peers[p] = ids[i]
	}
	a.knows.Store(true)
	return nil
}

// addNumbersLocked adds the launcher's numbers of the next names.
func (a *abroad) addNumbersLocked(numbers []int) {
	var all []int
	if old := a.numbers.Load(); old != nil {
		all = slices.Clone(*old)
	}
	all = append(all, numbers...)
	a.numbers.Store(&all)
}

// lookAt reads the card of a rank of another job, beside that of this rank. number is that which
// the launcher has given it, beyond if another launcher has.
func (j *job) lookAt(mine *card, p identity, raw []byte) (info engine.PeerInfo, number int, err error) {
	var c card
	if err := json.Unmarshal(raw, &c); err != nil {
		return engine.PeerInfo{}, 0, fmt.Errorf("the card of rank %d of the other job: %w", p.rank, err)
	}
	for _, s := range []struct{ name, mine, theirs string }{
		{nameTLS, fmt.Sprint(mine.TLS), fmt.Sprint(c.TLS)},
		{nameCheck, fmt.Sprint(mine.Check), fmt.Sprint(c.Check)},
		{nameColl, mine.Coll, c.Coll},
	} {
		if s.mine != s.theirs {
			return engine.PeerInfo{}, 0, fmt.Errorf("%s is %q here and %q in the other job: jobs that meet need the same", s.name, s.mine, s.theirs)
		}
	}
	if c.Big != mine.Big {
		return engine.PeerInfo{}, 0, fmt.Errorf("rank %d of the other job has another byte order: only ranks of one job convert", p.rank)
	}
	routes, err := j.ways.routes(&c)
	if err != nil {
		return engine.PeerInfo{}, 0, fmt.Errorf("the card of rank %d of the other job: %w", p.rank, err)
	}
	return engine.PeerInfo{Routes: routes, Host: c.Host, Remote: isRemote(mine, &c), BigEndian: c.Big}, j.numberIn(p, &c), nil
}
