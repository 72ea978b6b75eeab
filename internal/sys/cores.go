package sys

import "runtime"

// AllowedCores is the number of cores that this process may use: its affinity mask and its cgroup's
// limit, as the Go runtime sees them, but regardless of a GOMAXPROCS that is meant for ranks.
func AllowedCores() int {
	runtime.SetDefaultGOMAXPROCS()
	return runtime.GOMAXPROCS(0)
}
