package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() {
	register(procedure.GrequestStart, grequestStart)
	register(procedure.GrequestComplete, grequestComplete)
}

// grequestStart makes a request of the program's. Its status is what the query function writes,
// which package mpi calls before the status is given to the program.
func grequestStart(c *call) error {
	query, free, cancel, extra := c.args[0], c.args[1], c.args[2], c.args[3]
	w := theWorld.Load()
	asked := heap(new(status))
	r := w.self.GrequestStart(mpi.GeneralCallbacks{
		Query: func() (mpi.Status, error) {
			return emptyStatus, codeError(Callback(FunctionQuery, query, extra, address(asked)), "query")
		},
		Free: func() error { return codeError(Callback(FunctionFree, free, extra), "free") },
		Cancel: func(complete bool) error {
			n := int64(0)
			if complete {
				n = 1
			}
			return codeError(Callback(FunctionCancel, cancel, extra, n), "cancel")
		},
	})
	c.setHandle(4, keep(request{r: r, on: w.self, asked: asked}))
	return nil
}

func grequestComplete(c *call) error {
	q := findRequest(handle(c.args[0]))
	if q == nil || q.asked == nil {
		return failf(abi.ErrRequest, "the request is not of MPI_Grequest_start")
	}
	return q.r.Complete()
}
