//go:build linux

package launch

import (
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/internal/plain"
)

// message is a message of fitrun's own as it is shown. What is in it of ranks and hosts cannot move
// the cursor, nor make a line that looks like another message.
func message(text string) string { return "fitrun: " + plain.Text(text) + "\n" }

// name is rank r for messages.
func (s *supervisor) name(r int) string { return s.names([]int{r}) }

// names is some ranks of one process for messages.
func (s *supervisor) names(ranks []int) string {
	r := ranks[0]
	if pid := s.members[r].pid; pid != 0 {
		return fmt.Sprintf("%s (pid %d on %s)", rankList(ranks), pid, s.job.Processes[s.job.Ranks[r].proc].Host)
	}
	return fmt.Sprintf("%s (on %s)", rankList(ranks), s.job.Processes[s.job.Ranks[r].proc].Host)
}

func (s *supervisor) ranksRunning() []int {
	var ranks []int
	for r := range s.members {
		if s.members[r].isRunning() {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// rankList puts ascending ranks for people: "rank 3", "ranks 0-2, 5", "no rank".
func rankList(ranks []int) string {
	switch len(ranks) {
	case 0:
		return "no rank"
	case 1:
		return "rank " + intervals(ranks)
	default:
		return "ranks " + intervals(ranks)
	}
}

// intervals puts ascending ranks for people: "3", "0-2, 5".
func intervals(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(ranks[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ranks[i], ranks[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
