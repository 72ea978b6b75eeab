package hang

import "strings"

// Names of ranks. Those of the first job, which most have alone, are numbers; others have the name
// of their job behind them.

// mostJobs is how many jobs are named in one list of ranks.
const mostJobs = 6

// Names puts ascending places of ranks for people: "rank 3", "ranks 0-2, 5", "rank 0 of spawned 2",
// "ranks 0-2, and 0-1 of spawned 2".
func (j *Job) Names(ranks []int) string {
	switch {
	case len(ranks) == 0:
		return "no rank"
	case len(ranks) == 1:
		return j.name(ranks[0])
	default:
		return "ranks " + j.listed(ranks)
	}
}

// name is that of one rank.
func (j *Job) name(r int) string {
	if r >= len(j.Ranks) {
		return "a rank of another fitrun"
	}
	return "rank " + j.listed([]int{r})
}

// listed is the numbers of ranks: "0-2, 5", "0 of spawned 2", "0-2, and 0-1 of spawned 2".
func (j *Job) listed(ranks []int) string {
	var jobs []string
	in := make(map[string][]int) // by job
	beyond := 0
	for _, r := range ranks {
		job, number := j.of(r)
		if r >= len(j.Ranks) {
			beyond++
			continue
		}
		if in[job] == nil {
			jobs = append(jobs, job)
		}
		in[job] = append(in[job], number)
	}
	var parts []string
	for i, job := range jobs {
		if i == mostJobs {
			parts = append(parts, sprintf("those of %d more jobs", len(jobs)-i))
			break
		}
		parts = append(parts, intervals(in[job])+ofJob(job))
	}
	if beyond > 0 {
		parts = append(parts, sprintf("%d of another fitrun", beyond))
	}
	return strings.Join(parts, ", and ")
}

// of is the job of a rank, and which rank of that it is.
func (j *Job) of(r int) (job string, rank int) {
	if r < 0 || r >= len(j.Ranks) || j.Ranks[r].Job == "" {
		return "", r
	}
	return j.Ranks[r].Job, j.Ranks[r].Rank
}

// ofJob follows what is said of ranks of a job.
func ofJob(job string) string {
	if job == "" {
		return ""
	}
	return " of spawned " + job
}

// inWorld names a rank by its world, where ranks of other communicators are spoken of.
func (j *Job) inWorld(r int) string {
	job, rank := j.of(r)
	return sprintf("rank %d of the world", rank) + ofJob(job)
}
