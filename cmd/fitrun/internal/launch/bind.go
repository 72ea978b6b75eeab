//go:build linux

package launch

import (
	"fmt"
	"io"

	"github.com/fitmpi/fitmpi/internal/plain"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Binding says whether processes are bound to their cores.
type Binding string

const (
	// BindDefault leaves the choice to defaultBinding.
	BindDefault Binding = ""
	// BindCore binds each process to its ranks' share of the cores.
	BindCore Binding = "core"
	// BindNone binds no process.
	BindNone Binding = "none"

	// bindEven is BindCore where the cores are divided without remainder, and none is limited in
	// time; else BindNone. So a job with more ranks than cores is never bound, nor is one that
	// would leave a core idle, or lock itself to a few of the many cores that a container shares
	// with others.
	bindEven Binding = "even"
)

// defaultBinding is what BindDefault means: bindEven or BindNone.
const defaultBinding = bindEven

// isBound says whether the processes of r on s are bound, whose cores so many ranks share. A
// process gets all of their share of its cores: its workers never have fewer cores to run on than
// its ranks were given.
func (r *Request) isBound(s site, c crowd) (bool, error) {
	ranks := c.ranks
	bind := r.Bind
	if bind == BindDefault {
		bind = defaultBinding
	}
	need := ranks * coresPerRank(s.cores, ranks)
	switch bind {
	case BindNone:
		return false, nil
	case bindEven:
		return s.cores == len(s.cpus) && s.cores == need && c.odd == "", nil
	case BindCore:
		if c.odd != "" {
			return false, fmt.Errorf("--bind-to core: hosts %s and %s are one machine, and of its cores the one may use %s, the other %s; use --bind-to none, or give both the same or none in common",
				s.name, c.odd, sys.FormatCPUs(s.cpus), sys.FormatCPUs(c.oddCPUs))
		}
		if need > len(s.cpus) {
			return false, fmt.Errorf("--bind-to core: %s on %s, and %s to bind them to; use --bind-to none, or at most %s",
				plain.Count(ranks, "rank"), s.name, plain.Count(len(s.cpus), "core"), plain.Count(len(s.cpus), "rank"))
		}
		return true, nil
	default:
		panic("launch: bug: binding " + string(bind))
	}
}

// Bindings says for each process where it runs, for people.
func (j *Job) Bindings() []string {
	var lines []string
	for i := range j.Processes {
		p := &j.Processes[i]
		where := "not bound"
		if p.Bound != nil {
			where = "bound to " + plain.Noun(len(p.Bound), "core") + " " + sys.FormatCPUs(p.Bound)
		}
		lines = append(lines, fmt.Sprintf("%s on %s: %s", rankList(p.Ranks), p.Host, where))
	}
	return lines
}

// showBindings says where each process runs, if that was asked for.
func (j *Job) showBindings(cfg Config) {
	if !cfg.Bindings {
		return
	}
	for _, line := range j.Bindings() {
		io.WriteString(Folded(cfg.Stderr), message(line))
	}
}
