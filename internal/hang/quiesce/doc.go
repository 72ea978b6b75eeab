// Package quiesce asks the ranks of a running job what they wait for, and has package hang explain
// the answers. It does so at once for a caller that wants to know ([Look]). It does so from time to
// time to notice that the job can never go on ([Watch]).
//
// # When a job is quiescent
//
// Ranks answer one after the other, so what they say is not of one moment. A job is known to be
// quiescent by two rounds of pulses, the second begun when all answers to the first were there. If
// no rank has done anything between its two answers, what each said was true of it at all times
// between the rounds. If then the sums of what ranks have sent and received are equal, nothing was
// on its way at those times. The ranks are asked for what they wait for after that, and their
// pulses once more. If still no rank has done anything, no message has come to any of them since,
// and the answers are those of one moment as well. Goroutines that a rank found blocked stay so:
// what frees them is a message, of which there is none, or another goroutine of the same process,
// and those were listed at the same moment.
//
// Some goroutines are started by the garbage collector, for what is garbage already. So ranks that
// seem to be stuck collect garbage; if that has any function started, what they have said may hold
// no more, and they are looked at again, later. If not, there is nothing left that could be
// started.
//
// A caller that asks about a job that is not quiescent is informed of ranks that wait for each
// other only if these ranks, asked twice, have done nothing in between. Then a message may still be
// on its way to them, and the answer says that.
//
// So an alarm is never false as long as ranks tell the truth about which of their goroutines may go
// on by themselves. There is none as long as a rank does not answer, because it is stopped or held
// in a debugger.
package quiesce
