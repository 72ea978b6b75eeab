#!/bin/sh
# A slow network for benchmarks: two network namespaces, fitmpi-bench-a and fitmpi-bench-b, with a link between them that
# is limited in both directions. Needs root and iproute2.
#
#   netns.sh setup RATE           makes it, of a rate as tc knows it (1gbit, 100mbit); whatever stood before is taken down
#   netns.sh teardown             removes it, if it is there
#   netns.sh counters             bytes that each end has sent and received
#   netns.sh exec a|b COMMAND...  runs a command in a namespace
#   netns.sh openmpi [MPIRUN OPTIONS --] PROGRAM...   runs two ranks, rank 0 in a and rank 1 in b
#   netns.sh mpich PROGRAM...     the same with MPICH
#   netns.sh raw RAWTCP...        the same with rawtcp
set -eu

# Another prefix lets a second pair of namespaces stand beside the first.
prefix=${NETNS_PREFIX:-fitmpi-bench}
a=$prefix-a
b=$prefix-b
device=fitmpi0 # in both, so that one setting names it to both ranks
address_a=10.213.77.1
address_b=10.213.77.2

fail() {
	echo "netns.sh: $*" >&2
	exit 2
}

exists() { ip netns list | grep -qw -- "$1"; }

# Removing a namespace removes its devices, and with one end of the link goes the other. The kernel does it later: until
# then a new link of the same name would be another one, in another namespace, so nothing has to wait.
teardown() {
	for ns in $a $b; do
		if exists $ns; then ip netns delete $ns; fi
	done
}

# end NAMESPACE ADDRESS RATE sets one end up. The queue holds what 50 ms send, as a router's would.
#
# What the bucket holds leaves at once after a pause, so it is small beside the 64 KB that are the shortest message of
# which the rate is to be felt: with 128 KB in it such a message was not limited at all, with 32 KB it took 60 % of its
# time on the wire, with 12 KB it takes 96 %. What the stack sends as one packet must fit into the bucket: larger ones are
# split into packets of 1,500 bytes with a timer for each, which at 1 Gbit/s cost most of a core, and the ranks their
# computation. Smaller packets cost more too: those of 6 KB twice as much as these.
end() {
	case $3 in
	*gbit) burst=12kb packet=11600 ;; # eight segments of TCP
	*) burst=2kb packet=1500 ;;
	esac
	ip -n "$1" address add "$2/30" dev $device
	ip -n "$1" link set $device gso_max_size $packet
	ip -n "$1" link set lo up
	ip -n "$1" link set $device up
	tc -n "$1" qdisc add dev $device root tbf rate "$3" burst $burst latency 50ms
}

# await_link NAMESPACE waits until the kernel calls the end running, which comes up to a second after both ends are up;
# before that UCX takes the device for unusable.
await_link() {
	tries=100
	until [ "$(ip netns exec "$1" cat /sys/class/net/$device/operstate)" = up ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "the link in $1 does not come up"
		sleep 0.05
	done
}

setup() {
	teardown
	trap 'teardown' EXIT # unless all of it succeeds
	ip netns add $a
	ip netns add $b
	ip -n $a link add $device type veth peer name $device netns $b
	end $a $address_a "$1"
	end $b $address_b "$1"
	await_link $a
	await_link $b
	trap - EXIT
}

counters() {
	for ns in $a $b; do
		ip netns exec $ns awk -v ns=$ns -v device="$device:" '
			$1 == device { printf "%s received %s sent %s\n", ns, $2, $10 }' /proc/net/dev
	done
}

# Open MPI's mpirun runs in a and starts a daemon in each namespace, for which the two addresses are its hosts. It starts
# the daemon of the other host with an agent, `agent HOST COMMAND`, in place of ssh: this script again.
openmpi() {
	options=
	case " $* " in
	*" -- "*)
		while [ "$1" != -- ]; do
			options="$options $1"
			shift
		done
		shift
		;;
	esac
	self=$(realpath "$0")
	# shellcheck disable=SC2086 # options are words
	exec ip netns exec $a mpirun.openmpi --allow-run-as-root --bind-to none --mca pml ob1 --mca btl tcp,self \
		--mca btl_tcp_if_include $device --mca oob_tcp_if_include $device \
		--mca plm rsh --mca plm_rsh_agent "$self agent" --mca orte_keep_fqdn_hostnames 1 \
		$options -H $address_a,$address_b -np 2 "$@"
}

agent() {
	case $1 in
	"$address_a") ns=$a ;;
	"$address_b") ns=$b ;;
	*) fail "agent: no namespace has the address $1" ;;
	esac
	shift
	exec ip netns exec $ns sh -c "$*"
}

# The ranks of MPICH talk to its launcher through an inherited descriptor, so each may be in a namespace of its own.
mpich() {
	export MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self UCX_NET_DEVICES=$device
	exec mpirun.mpich -np 1 ip netns exec $a "$@" : -np 1 ip netns exec $b "$@"
}

raw() {
	program=$1
	shift
	ip netns exec $b "$program" -serve -host $address_b "$@" &
	server=$!
	trap 'kill $server 2>/dev/null || :' EXIT
	ip netns exec $a "$program" -host $address_b "$@"
	wait $server
	trap - EXIT
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
setup)
	[ $# -eq 1 ] || fail "setup needs a rate, such as 1gbit"
	setup "$1"
	;;
teardown) teardown ;;
counters) counters ;;
exec)
	[ $# -ge 2 ] || fail "exec needs a or b, and a command"
	ns=$prefix-$1
	shift
	exec ip netns exec "$ns" "$@"
	;;
openmpi | agent | mpich | raw)
	[ $# -ge 1 ] || fail "$command needs a program"
	$command "$@"
	;;
*) fail "choose setup, teardown, counters, exec, openmpi, mpich or raw: the first lines of this file describe them" ;;
esac
