package engine

// asked is what a dial has said to a gateway, and what has come back as long as that may be the
// gateway's own answer.
type asked struct {
	preamble []byte
	refusal  func(preamble, answer []byte) (why string, more bool) // Route.Refusal
	answer   []byte
}

// gatewayError is why a gateway does not let us through, as it says, or as something in its place
// says. It is for people: whether and when the route is tried again does not depend on it.
type gatewayError string

func (e gatewayError) Error() string { return string(e) }

// pastGateway is the part of b, which a dial has read, that is the peer's. That is all of it,
// unless a gateway is asked and may not have answered yet. Then there is nothing at first, and
// asked stays. If the gateway refuses, that ends the dial and asked.
func (c *conn) pastGateway(b []byte) []byte {
	a := c.asked
	if a == nil {
		return b
	}
	a.answer = append(a.answer, b...)
	why, more := a.refusal(a.preamble, a.answer)
	if why == "" && more {
		return nil
	}
	c.asked = nil
	if why != "" {
		c.dialBroken(gatewayError(why))
		return nil
	}
	return a.answer
}
