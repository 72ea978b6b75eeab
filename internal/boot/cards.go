package boot

import (
	"encoding/base64"
	"fmt"
)

// Cards collects one card per rank at the launcher. It is not safe for concurrent use.
type Cards struct {
	table   [][]byte // by rank; nil until given
	missing int      // ranks whose card is nil
	encoded [][]byte // the lines of a complete table, made once and shared by all links
}

// NewCards returns an empty table for size ranks.
func NewCards(size int) *Cards {
	return &Cards{table: make([][]byte, size), missing: size}
}

// Put stores the card of rank. A second card of the same rank is an error.
func (c *Cards) Put(rank int, card []byte) error {
	if rank < 0 || rank >= len(c.table) {
		return fmt.Errorf("card of rank %d in a job of %d", rank, len(c.table))
	}
	if c.table[rank] != nil {
		return fmt.Errorf("rank %d gave a second card", rank)
	}
	if card == nil {
		card = []byte{}
	}
	c.table[rank] = card
	c.missing--
	return nil
}

// Has reports whether rank has given its card.
func (c *Cards) Has(rank int) bool { return c.table[rank] != nil }

// Given is the number of ranks that have given their card.
func (c *Cards) Given() int { return len(c.table) - c.missing }

// IsComplete reports whether all ranks have given their card.
func (c *Cards) IsComplete() bool { return c.missing == 0 }

// Table is the cards by rank, nil where none was given. The caller must not change it.
func (c *Cards) Table() [][]byte { return c.table }

// lines encodes a complete table, as many cards to a line as fit.
func (c *Cards) lines() [][]byte {
	if !c.IsComplete() {
		panic("boot: bug: cards sent before all of them were given")
	}
	if c.encoded != nil {
		return c.encoded
	}
	for first := 0; first < len(c.table); {
		n := c.fitting(first)
		m := message{Type: typeCards, First: first, Cards: c.table[first : first+n]}
		c.encoded = append(c.encoded, appendMessage(nil, m))
		first += n
	}
	return c.encoded
}

// fitting is the number of cards from first on that fit on one line; at least 1, because MaxCard
// fits.
func (c *Cards) fitting(first int) int {
	room := maxLine - 256 // for the rest of the message
	for i, card := range c.table[first:] {
		room -= base64.StdEncoding.EncodedLen(len(card)) + len(`"",`)
		if room < 0 {
			return i
		}
	}
	return len(c.table) - first
}
