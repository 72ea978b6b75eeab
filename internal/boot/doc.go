// Package boot is a rank's view of its launcher: which rank this is, and where the others are.
//
// A rank calls [Find] once with its environment, reads [Session.Info], hands in its card with
// [Session.Exchange] (an allgather of one opaque card per rank), announces the end of its
// communication with [Session.Finalizing], and listens for failures of others on [Session.Events].
// A program started without a launcher is a job of one rank. A process that holds several ranks
// calls [FindAll], and has a session for each.
//
// Ranks of one host may share memory: [Info] then has the segment and the rank's own bell.
// [Session.Bell] fetches the bells of others, one by one as they are needed, so that a rank has
// descriptors for its active peers only.
//
// The launcher's half of the protocol is here too, so that both ends are written, tested and fuzzed
// side by side: one [Link] per rank, and one [Cards] table per job.
//
// Other launchers are found by their environment; docs/LAUNCH.md says which, and what a user sets
// for them. Those that speak PMI give each rank a connection (package pmi), and the ranks tell each
// other through it what fitrun would tell them. Of those that only number their processes, the
// ranks meet at rank 0, which then serves the others by the protocol below: its hub holds a Link to
// each, itself included, as fitrun does. So there is one protocol, and one Session for both.
//
// All methods of a Session and of a Link are safe for concurrent use. A Session owns one goroutine,
// its reader, and a Link one, its writer; Close stops it and waits for it.
//
// # How a rank finds fitrun
//
// fitrun starts each rank with one end of a Unix stream socket pair and sets FITMPI_BOOT_FD to its
// descriptor number. For a process of several ranks there is one socket pair per rank, and the
// variable holds their numbers in rank order, with commas between them. Numbers are all that the
// environment and the command line ever carry. Identity, secret and cards travel over the socket,
// which no other process can open. Find marks the descriptor close-on-exec and removes the variable
// from the environment, so children of a rank inherit neither.
//
// # How ranks meet
//
// A rank dials rank 0 until that listens, and both make sure of the other. Over TCP they do so by
// package secure, with the role "rendezvous" and the secret in FITMPI_SECRET_FILE; over a Unix
// socket by the user id that the kernel tells (SO_PEERCRED). The first message is then the rank's:
//
//	{"type":"join","v":1,"rank":3,"size":4,"pid":4711,"place":{"host":"n1","machine":"<boot id>","net":"net:[4026531840]","cpus":"0-3","pid":4711}}
//
// When all ranks have joined each gets its welcome, and the protocol goes on as with fitrun. One
// that has no place in the job, or that waits in vain, is told why, and that is the last that it
// hears:
//
//	{"type":"refused","text":"rank 3 is here already: ..."}
//
// Ranks of one host that do not all meet over a Unix socket anyway do so once more, for memory,
// bells and early news of a death alone. They meet at the abstract name fitmpi-job-JOB, with the
// first of them in the place of rank 0. No cards go there.
//
// In PMI's key-value space, values are base64 (URL alphabet, no padding) in pieces: the first
// begins with the number of pieces and a dot, the others are under the key with "-1", "-2" and so
// on. Rank 0 puts the job's id under "fitmpi-job" and its secret under "fitmpi-secret"; rank R puts
// its place, as in join, under "fitmpi-place-R" before the first barrier, and its card under
// "fitmpi-card-R" before the second.
//
// # Descriptors
//
// Some lines from the launcher come with descriptors (SCM_RIGHTS, see unix(7)), which arrive
// close-on-exec. The line's "fds" names them in the order of sending, at most 4. A reader closes
// those whose name it does not know, and ends the conversation when a line names more than came, or
// when more than 8 came that no line has named. Descriptors that a rank sends are dropped by the
// kernel, as the launcher does not ask for them.
//
// "segment" is a memfd, "bell" an eventfd, "trace" a memfd in which the rank is to note what it
// does, by the rules of package trace. None has a name in any file system: when the last process
// that holds one is dead, however it died, it is gone.
//
// # Protocol, version 1
//
// Each message is one JSON object on one line of at most 64 KiB, the newline included. Its "type"
// says what it is; a message of unknown type, a line too long, or a value out of range is an error
// that ends the conversation. Fields that a reader does not know are ignored. Byte strings are in
// base64, the job's id in hexadecimal.
//
// From the launcher:
//
//	{"type":"welcome","v":1,"rank":0,"size":4,"local_rank":0,"local_size":4,"job":"<32 hex digits>","secret":"<32 bytes>",
//	 "host":"n1","cores":2,"universe":8,"metrics":true,"metrics_addr":"127.0.0.1:9100","process":0,"process_ranks":2,"bound":"0-3","roam":"0-7",
//	 "net":{"remote":true,"iface":"eth0,10.0.0.0/8","ports":"40000-40999","tls":true,"domain":"a",
//	  "gateways":[{"domain":"b","addr":"10.0.0.1:4000","key":"<16 to 64 bytes>"}]},
//	 "app":0,"near":"0-3","ft":true,"attempt":1,"fds":["segment","bell","trace"],
//	 "kin":"2.1","kin_first":12,"root":"<32 hex digits>"}
//	{"type":"cards","first":0,"cards":["<card of rank 0>","<card of rank 1>"]}
//	{"type":"event","event":"peer-failed","rank":2,"code":137,"text":"..."}
//	{"type":"event","event":"job-aborted","rank":2,"code":7,"text":"..."}
//	{"type":"event","event":"asked","rank":-1,"code":12,"text":"counters"}
//	{"type":"bell","rank":1,"fds":["bell"]}
//
// From the rank:
//
//	{"type":"hello","v":1,"pid":4711}
//	{"type":"card","card":"<at most 16 KiB>"}
//	{"type":"finalizing"}
//	{"type":"abort","code":7,"text":"<at most 8 KiB>"}
//	{"type":"report","key":"metrics","text":"127.0.0.1:40001"}
//	{"type":"answer","number":12,"data":{<at most 60 KiB>}}
//	{"type":"bell","rank":1}
//	{"type":"suspect","rank":1,"text":"nothing was heard of it for 1m0s"}
//
// The launcher speaks first: welcome is the first message on the socket and is sent once. A rank
// that speaks another version says so and gives up. The rank answers with hello, and sends card
// when its Init has made one; it does so at most once. When the launcher holds a card of every rank
// it sends all of them to every rank, in rank order, in as many cards messages as the line limit
// asks for. Events may come at any time after welcome.
//
// A rank that has no welcome after 0.3 s says hello first. If another process has said hello as
// this rank before, it has taken the welcome, and the answer is refused. As both have the socket,
// the process that is the rank may read that, and leaves it out.
//
// An event of the kind "asked" is a question of fitrun's, its number in "code", and "answer" the
// answer; what is asked and answered is of package telemetry. A rank may leave a question out. If
// welcome has "watched", a rank answers the question 0, for its counters, unasked before it says
// "finalizing".
//
// In welcome, "process" counts the processes of this host, "process_ranks" the ranks of this one,
// whose local ranks are consecutive, and "bound" lists the processors that the process is bound to,
// if it is. On those in "roam", if there are any, its threads may run that only move messages.
// "app" is which of the job's programs the rank runs. "ft" says that the job goes on without a rank
// that dies, and "attempt" how often it was started before. "near", which only rank 0 sends, lists
// the ranks of this host. "net" is there if there is something to say of ranks on other hosts:
// where to listen, and by which gateways, of which there are at most 64, the ranks of other domains
// are reached. A rank that was given a bell may ask for that of another rank of its host, by its
// local rank, and the launcher answers each bell with one. Of a job that was spawned "kin",
// "kin_first" and "root" are its Kin.
//
// A rank that has heard nothing of another for too long says so by suspect. It says by a suspect
// without a text that the other is heard again. The launcher looks at the other's process, and ends
// it if it cannot be helped. Then the launcher sends the event peer-failed to all ranks.
//
// A rank whose MPI sessions are all finalized is idle: it reports "rest" with the text "yes", from
// when exit code 0 is clean, and with "no" when it takes part again. Where rank 0 is the launcher's
// end it tells the others the same of itself, with 1 or 0 in "code", as its process may exit while
// they go on:
//
//	{"type":"event","event":"leader-rests","rank":0,"code":1}
//
// A rank sends finalizing when its exit is clean from here on. A rank that sent a card and exits
// without finalizing has failed, whatever its exit code. After abort the launcher ends the whole
// job and shows the text once. Nothing is acknowledged: what a rank wrote before it exited stays
// readable in the socket, and the launcher reads all of it before it classifies the exit. End of
// file at the rank's end means that the launcher is gone, or that another process was this rank and
// has finalized: that one shuts down reading as it goes.
package boot
