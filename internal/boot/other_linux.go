//go:build !fitmpi_portable

package boot

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot/internal/pmi"
	"github.com/fitmpi/fitmpi/internal/secure"
)

// defaultPatience is how long ranks wait for each other where no setting says otherwise: pods may
// wait for their images.
const defaultPatience = 10 * time.Minute

// findOther is FindAll without fitrun.
func findOther(environ []string) (Session, error) {
	wanted, err := wantedSource(environ)
	if err != nil {
		return nil, err
	}
	if wanted == "none" {
		return newSingle("none"), nil
	}
	session, err := openOther(environ, wanted)
	if err != nil {
		return nil, err
	}
	if session.Info().Source != "none" {
		err = forget()
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

// otherRanks is RanksHere without fitrun.
func otherRanks(environ []string) int {
	wanted, err := wantedSource(environ)
	if err == nil && wanted == "none" {
		return 0
	}
	if _, ok := lookup(environ, envPMIPort); ok && (wanted == "" || wanted == "pmi") {
		return 1 // which one is told there
	}
	if c, errClaim := findClaim(environ, wanted, nil); err == nil && errClaim == nil && c == nil {
		return 0
	}
	return 1
}

// forget changes the environment so that children of this rank do not take themselves for it.
func forget() error {
	for _, name := range []string{envPMIFD, envPMIPort} {
		if err := os.Unsetenv(name); err != nil {
			return fmt.Errorf("boot: %w", err)
		}
	}
	if err := os.Setenv(envLauncher, "none"); err != nil {
		return fmt.Errorf("boot: %w", err)
	}
	return nil
}

func openOther(environ []string, wanted string) (Session, error) {
	client, told, err := dialPMI(environ, wanted)
	if err != nil {
		return nil, err
	}
	c, err := findClaim(environ, wanted, told)
	if err == nil && client == nil && c != nil && c.source == "pmi" {
		client, err = inheritPMI(environ)
	}
	switch {
	case err != nil:
		if client != nil {
			client.Close()
		}
		return nil, err
	case client != nil: // what it said at PMI_PORT is the first claim, and whole; that over PMI_FD is of a claim that counts
		return openPMI(client, c, os.Stderr)
	case c == nil:
		return newSingle("none"), nil
	case c.size == 1:
		return newSingle(c.source), nil
	default:
		m, err := meetingOf(environ, c, os.Stderr)
		if err != nil {
			return nil, err
		}
		return m.attendLocal()
	}
}

// inheritPMI begins the conversation over the socket in PMI_FD; nil if there is none: some
// launchers set PMI_RANK and PMI_SIZE, and no more.
func inheritPMI(environ []string) (*pmi.Client, error) {
	number, ok := lookup(environ, envPMIFD)
	if !ok {
		return nil, nil
	}
	conn, err := inherit(number, "the launcher")
	if err != nil {
		return nil, fmt.Errorf("boot: %s=%s: %w; set %s=none to run as a job of one rank", envPMIFD, clip(number, maxKey), err, envLauncher)
	}
	client, err := pmi.Start(conn)
	if err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	return client, nil
}

// dialPMI begins the conversation with the launcher at PMI_PORT, which tells rank and size; nil if
// there is none.
func dialPMI(environ []string, wanted string) (*pmi.Client, *claim, error) {
	address, ok := lookup(environ, envPMIPort)
	if _, hasFD := lookup(environ, envPMIFD); !ok || hasFD || wanted != "" && wanted != "pmi" {
		return nil, nil, nil
	}
	id, _ := lookup(environ, envPMIID)
	conn, err := net.DialTimeout("tcp", address, openTimeout)
	if err != nil {
		return nil, nil, fmt.Errorf("boot: %s=%s: %w", envPMIPort, clip(address, maxValue), err)
	}
	client, who, err := pmi.StartPort(conn, id)
	if err != nil {
		return nil, nil, fmt.Errorf("boot: %s=%s, %s=%s: %w", envPMIPort, clip(address, maxValue), envPMIID, clip(id, maxKey), err)
	}
	told := &claim{source: "pmi", rank: who.Rank, size: who.Size, rankVar: "the rank told at " + envPMIPort, sizeVar: "the size told at " + envPMIPort}
	return client, told, nil
}

// meetingOf is where the ranks of a launcher that exchanges nothing meet.
func meetingOf(environ []string, c *claim, say io.Writer) (*meeting, error) {
	m := &meeting{rank: c.rank, size: c.size, source: c.source, network: "tcp", patience: defaultPatience, say: say, every: progressEvery}
	for r := range c.size {
		m.ranks = append(m.ranks, r)
	}
	if s, ok := lookup(environ, envPatience); ok {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("boot: %s=%s: want a duration such as 90s or 10m", envPatience, clip(s, maxKey))
		}
		m.patience = d
	}
	address, isGiven := lookup(environ, envRendezvous)
	var err error
	switch {
	case isGiven:
		m.address, err = checkAddress(address)
	case c.isOneHost:
		m.network = "unix"
		m.address, err = localName(environ, c)
		return m, err
	case c.source == "slurm":
		m.address, err = slurmAddress(environ)
	default:
		err = fmt.Errorf("boot: %s=%d of %d (%s) says which rank this is, but not where rank 0 is: set %s=host:port, at which rank 0 listens, and %s",
			c.rankVar, c.rank, c.size, c.source, envRendezvous, envSecretFile)
	}
	if err != nil {
		return nil, err
	}
	m.secret, err = rendezvousSecret(environ, m.address)
	return m, err
}

// checkAddress is the value of FITMPI_RENDEZVOUS.
func checkAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil && host != "" {
		if n, err := strconv.Atoi(port); err == nil && n >= 1 && n <= 65535 {
			return address, nil
		}
	}
	return "", fmt.Errorf("boot: %s=%s: want host:port, where rank 0 is and a port that is free there, 1 to 65535", envRendezvous, clip(address, maxKey))
}

func rendezvousSecret(environ []string, address string) ([]byte, error) {
	name, ok := lookup(environ, envSecretFile)
	if !ok {
		return nil, fmt.Errorf("boot: ranks meet at %s, and must prove that they belong together: set %s to a file with a secret that all hosts have", address, envSecretFile)
	}
	secret, err := secure.ReadSecret(name)
	if err != nil {
		return nil, fmt.Errorf("boot: %s: %w", envSecretFile, err)
	}
	return secret, nil
}

// maxLocalName is how many bytes an abstract name may have, without its @: sun_path of unix(7) less
// the first.
const maxLocalName = 107

// localName is the abstract name at which the ranks of a job of one host meet.
func localName(environ []string, c *claim) (string, error) {
	var names []string
	switch c.source {
	case "slurm":
		names = []string{"SLURM_JOB_ID", "SLURM_STEP_ID"}
	case "openmpi":
		names = []string{"PMIX_NAMESPACE"}
		if _, ok := lookup(environ, names[0]); !ok {
			names = []string{"OMPI_MCA_ess_base_jobid"}
		}
	}
	var named []string // what names hold
	words := []string{"fitmpi", strconv.Itoa(os.Geteuid()), c.source}
	for _, variable := range names {
		value, ok := lookup(environ, variable)
		if !ok || value == "" || strings.ContainsRune(value, 0) {
			return "", fmt.Errorf("boot: %s=%d of %d, all on this host, but %s does not name the job: set %s=127.0.0.1:port and %s",
				c.rankVar, c.rank, c.size, variable, envRendezvous, envSecretFile)
		}
		named = append(named, value)
	}
	name := strings.Join(append(words, named...), "-")
	if len(name) > maxLocalName { // some namespaces hold the name of a host, or a path
		name = fmt.Sprintf("%s-%x", strings.Join(words, "-"), sha256.Sum256([]byte(strings.Join(named, "\x00"))))
	}
	return name, nil
}

// Ports that slurmAddress chooses from: below those that Linux gives to a program that asks for any
// port.
const (
	firstSlurmPort = 12000
	slurmPorts     = 16000
)

// slurmAddress is the first node of the step, and a port that another step of that node is unlikely
// to have.
func slurmAddress(environ []string) (string, error) {
	list, _ := lookup(environ, "SLURM_STEP_NODELIST")
	host, err := firstNode(list)
	if err != nil {
		return "", fmt.Errorf("boot: SLURM_STEP_NODELIST=%s: %w; set %s=host:port, at which rank 0 listens", clip(list, maxKey), err, envRendezvous)
	}
	id, _ := lookup(environ, "SLURM_JOB_ID")
	job, err := strconv.ParseUint(id, 10, 32) // of the clusters' many jobs: these numbers get far beyond those of ranks
	if err != nil {
		return "", fmt.Errorf("boot: SLURM_JOB_ID=%s is not a job's number: set %s=host:port, at which rank 0 listens", clip(id, maxKey), envRendezvous)
	}
	step, err := numberOf(environ, "SLURM_STEP_ID", 0)
	if err != nil {
		return "", err
	}
	port := firstSlurmPort + (int(job)*37+step)%slurmPorts
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// firstNode is the first of Slurm's list of nodes, such as n1 of "n1", of "n1,n2", and n08 of
// "n[08-12,20],m1".
func firstNode(list string) (string, error) {
	prefix, rest, hasRange := strings.Cut(list, "[")
	if comma := strings.IndexByte(prefix, ','); comma >= 0 {
		prefix, hasRange = prefix[:comma], false
	}
	if !hasRange {
		return checkNode(prefix)
	}
	numbers, suffix, closed := strings.Cut(rest, "]")
	if !closed {
		return "", fmt.Errorf("the list has a [ without ]")
	}
	first := numbers[:strings.IndexAny(numbers+",", ",-")]
	if first == "" {
		return "", fmt.Errorf("the list has a range without numbers")
	}
	suffix, _, _ = strings.Cut(suffix, ",")
	return checkNode(prefix + first + suffix)
}

func checkNode(name string) (string, error) {
	isOdd := func(r rune) bool {
		return !(r == '-' || r == '.' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}
	if name == "" || strings.ContainsFunc(name, isOdd) {
		return "", fmt.Errorf("it begins with %q, which is no host's name", clip(name, maxKey))
	}
	return name, nil
}
