package hosts

// Host is a machine on which ranks may run, as the user or a resource manager named it.
type Host struct {
	Name   string // a name or an address, as the way to reach it takes it; never empty
	User   string // for ssh; "" is its own choice
	Port   int    // of its sshd, or of its agent if Agent; 0 is the default of either
	Agent  bool   // it is reached by the fitrun agent that listens there, not by ssh
	Slots  int    // ranks that it has room for, at least 1; 0 if it is not said
	Max    int    // most ranks that it takes when slots are exceeded; 0 is no limit
	Domain string // ranks of another domain are reached through a gateway; "" is the domain of all that have no other
}

// String is h as messages name it.
func (h Host) String() string {
	if h.User != "" {
		return h.User + "@" + h.Name
	}
	return h.Name
}
