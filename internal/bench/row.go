package bench

// Row is one figure that a benchmark measured, with the conditions it was
// measured under. Rows with equal conditions (all fields but the Summary) from
// several runs are measurements of the same thing.
type Row struct {
	Test      string `json:"test"`      // pingpong, rate, overlap, ...: see bench/METHOD.md
	Peer      string `json:"peer"`      // fitmpi, openmpi, mpich, raw
	Transport string `json:"transport"` // tcp, shm (between processes), threads (of one process), mixed
	Policy    string `json:"policy"`    // worker, assist, caller; of a peer: none, or thread if it has a progress thread
	Ranks     int    `json:"ranks"`     // of the job
	Case      string `json:"case"`      // what distinguishes rows of one test besides size: allreduce, reverse; may be empty
	Size      int64  `json:"size"`      // bytes of a message; of test match the depth of the queue
	Measure   string `json:"measure"`   // half-rtt, wait-send, overlap, ...: what the Summary is of
	Unit      string `json:"unit"`      // us, ns, MB/s (10^6 bytes a second), 1/s, %, ms, bytes, 1
	Summary
}

// HigherIsBetter reports whether more of a unit is better: of rates, bandwidths
// and percentages it is.
func HigherIsBetter(unit string) bool {
	switch unit {
	case "MB/s", "1/s", "%":
		return true
	}
	return false
}
