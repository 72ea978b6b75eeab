package boot

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Environment variables by which a user says what a launcher does not.
const (
	envLauncher   = "FITMPI_LAUNCHER"           // auto, none, or the source that counts
	envRank       = RankVariable                // of this process, where no launcher says it
	envSize       = SizeVariable                // ranks of the job, where the launcher does not say it
	envRendezvous = "FITMPI_RENDEZVOUS"         // host:port at which rank 0 waits for the others
	envSecretFile = "FITMPI_SECRET_FILE"        // with what the ranks prove to each other that they belong together
	envPatience   = "FITMPI_RENDEZVOUS_TIMEOUT" // how long a rank waits for the others there
	envTransport  = "FITMPI_TRANSPORT"          // tcp: make no shared memory
	envFT         = "FITMPI_FT"                 // 1: the job goes on without ranks that die
)

// Environment variables that lead to a launcher that speaks PMI.
const (
	envPMIFD   = "PMI_FD"   // number of an inherited socket
	envPMIPort = "PMI_PORT" // host:port to dial
	envPMIID   = "PMI_ID"   // by which the launcher knows this process, with PMI_PORT
)

// unknown is a rank or a size that a launcher does not say.
const unknown = -1

// claim is what the variables of one launcher say about this process.
type claim struct {
	source           string
	rank, size       int    // unknown if they do not say
	rankVar, sizeVar string // which variables say it
	isOneHost        bool   // the launcher says that all ranks are on this host
	isOlder          bool   // the variables are of an ancestor of this process, which a launcher within it may contradict
}

// isWhole reports whether c says all that it must.
func (c *claim) isWhole() bool { return c.rank != unknown && c.size != unknown }

// source is a launcher that tells each process by environment variables which rank it is.
type source struct {
	name             string
	rankVar, sizeVar string
	isTrue           func(environ []string) bool // whether the variables are about this process; nil: always
	add              func(environ []string, c *claim)
}

// sources are in the order of preference.
var sources = []source{
	{name: "environment", rankVar: envRank, sizeVar: envSize},
	{name: "pmi", rankVar: "PMI_RANK", sizeVar: "PMI_SIZE"},
	{name: "kubernetes", rankVar: "JOB_COMPLETION_INDEX", sizeVar: envSize},
	{name: "slurm", rankVar: "SLURM_PROCID", sizeVar: "SLURM_STEP_NUM_TASKS", isTrue: isSlurmTask, add: addSlurm},
	{name: "openmpi", rankVar: "OMPI_COMM_WORLD_RANK", sizeVar: "OMPI_COMM_WORLD_SIZE", add: addOpenMPI},
	{name: "pmix", rankVar: "PMIX_RANK", sizeVar: envSize},
}

// firstSpecialStep is the least of the step ids that Slurm gives to what is no step of tasks: batch
// scripts, interactive shells, external ones.
const firstSpecialStep = 0xfffffff0

// isSlurmTask reports whether srun started this process, or an ancestor of it. In a batch script
// SLURM_PROCID is 0 and SLURM_NTASKS the number of tasks asked for, though there is but one
// process; only srun says which step it is and how many tasks that has.
func isSlurmTask(environ []string) bool {
	step, _ := lookup(environ, "SLURM_STEP_ID")
	id, err := strconv.ParseUint(step, 10, 32)
	_, hasTasks := lookup(environ, "SLURM_STEP_NUM_TASKS")
	return err == nil && id < firstSpecialStep && hasTasks
}

func addSlurm(environ []string, c *claim) {
	nodes, _ := lookup(environ, "SLURM_STEP_NUM_NODES")
	c.isOneHost = nodes == "1"
	// Launchers that srun starts, one on each node, leave its variables to their ranks. The
	// variables say nothing about those ranks.
	pid, ok := lookup(environ, "SLURM_TASK_PID")
	c.isOlder = ok && pid != strconv.Itoa(os.Getpid())
}

func addOpenMPI(environ []string, c *claim) {
	local, ok := lookup(environ, "OMPI_COMM_WORLD_LOCAL_SIZE")
	all, _ := lookup(environ, "OMPI_COMM_WORLD_SIZE")
	c.isOneHost = ok && local == all
}

// claimOf is what src says; nil if it says nothing.
func claimOf(environ []string, src source) (*claim, error) {
	if _, ok := lookup(environ, src.rankVar); !ok || src.isTrue != nil && !src.isTrue(environ) {
		return nil, nil
	}
	c := &claim{source: src.name, rankVar: src.rankVar, sizeVar: src.sizeVar}
	var err error
	if c.size, err = numberOf(environ, src.sizeVar, 1); err != nil {
		return nil, err
	}
	if c.rank, err = numberOf(environ, src.rankVar, 0); err != nil {
		return nil, err
	}
	if c.size != unknown && c.rank >= c.size {
		return nil, fmt.Errorf("boot: %s=%d and %s=%d contradict each other: ranks count from 0", c.rankVar, c.rank, c.sizeVar, c.size)
	}
	if src.add != nil {
		src.add(environ, c)
	}
	return c, nil
}

// numberOf is the value of a variable, unknown if it is not set.
func numberOf(environ []string, name string, low int) (int, error) {
	s, ok := lookup(environ, name)
	if !ok {
		return unknown, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > maxSize {
		return unknown, fmt.Errorf("boot: %s=%s: want a number from %d to %d", name, clip(s, maxKey), low, maxSize)
	}
	return n, nil
}

// findClaim is the claim that counts, by the rules of docs/LAUNCH.md; nil if this process is a job
// of one rank. told is what the launcher has said that this process has dialled, nil if there is
// none.
func findClaim(environ []string, wanted string, told *claim) (*claim, error) {
	environ = withoutShown(environ)
	var claims []*claim
	if told != nil {
		claims = append(claims, told)
	}
	for _, src := range sources {
		if wanted != "" && wanted != src.name {
			continue
		}
		c, err := claimOf(environ, src)
		if err != nil {
			return nil, err
		}
		if c != nil {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return nil, explainNone(environ, wanted)
	}
	return chooseClaim(claims)
}

// wantedSource is the value of FITMPI_LAUNCHER, "" for auto.
func wantedSource(environ []string) (string, error) {
	name, _ := lookup(environ, envLauncher)
	if name == "" || name == "auto" {
		return "", nil
	}
	names := []string{"none"}
	for _, src := range sources {
		names = append(names, src.name)
	}
	if !slices.Contains(names, name) {
		return "", fmt.Errorf("boot: %s=%s: choose auto, %s", envLauncher, clip(name, maxKey), strings.Join(names, ", "))
	}
	return name, nil
}

// explainNone says what is wrong if nothing says which rank this is, nil if that is as it should
// be.
func explainNone(environ []string, wanted string) error {
	if wanted != "" {
		i := slices.IndexFunc(sources, func(src source) bool { return src.name == wanted })
		return fmt.Errorf("boot: %s=%s, but %s is not set, or not by that launcher for this process%s",
			envLauncher, wanted, sources[i].rankVar, hintShown(environ))
	}
	for _, name := range []string{envRendezvous, envSize} {
		if value, ok := lookup(environ, name); ok && !(name == envSize && value == "1") {
			return fmt.Errorf("boot: %s=%s is set, but nothing says which rank this is: start it by a launcher, or set %s too%s",
				name, clip(value, maxKey), envRank, hintShown(environ))
		}
	}
	return nil
}

// chooseClaim takes the first claim that is whole, if no other contradicts it.
func chooseClaim(claims []*claim) (*claim, error) {
	i := slices.IndexFunc(claims, (*claim).isWhole)
	if i < 0 {
		c := claims[0]
		return nil, fmt.Errorf("boot: %s=%d says which rank this is, but nothing says of how many: set %s; or %s=none if each process is a job of its own",
			c.rankVar, c.rank, c.sizeVar, envLauncher)
	}
	best := claims[i]
	if best.isOlder { // a newer one is closer to this process
		for _, c := range claims {
			if c.isWhole() && !c.isOlder {
				best = c
				break
			}
		}
	}
	for _, c := range claims {
		if c != best && !c.isOlder {
			if err := best.compare(c); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}

// compare says where two claims about one process contradict each other.
func (c *claim) compare(d *claim) error {
	contradict := func(aVar string, a int, bVar string, b int) error {
		return fmt.Errorf("boot: %s=%d and %s=%d contradict each other: set %s to say which counts, %s or %s",
			aVar, a, bVar, b, envLauncher, c.source, d.source)
	}
	switch {
	case d.size != unknown && c.size != d.size:
		return contradict(c.sizeVar, c.size, d.sizeVar, d.size)
	case d.rank != unknown && c.rank != d.rank:
		return contradict(c.rankVar, c.rank, d.rankVar, d.rank)
	}
	return nil
}
