package hosts

// By is an order in which hosts are filled, or ranks are numbered.
type By string

const (
	// BySlot takes all of a host before the next.
	BySlot By = "slot"
	// ByNode takes one of each host in turn.
	ByNode By = "node"
)

// Policy says how ranks are divided among hosts.
type Policy struct {
	Ranks         int  // of the job; 0 is as many as there are slots
	PerHost       int  // exactly so many on each host that is used (-ppn, -N); 0 is as the slots allow
	MapBy         By   // which host the next rank is put on; "" is BySlot
	RankBy        By   // how the ranks that were so put are numbered; "" is as MapBy put them
	NoLocal       bool // none on the host that fitrun runs on, where there are others
	Oversubscribe bool // more ranks than slots, up to Max, are no error
}
