#!/usr/bin/env bash
# A Grid Engine of one node for one command, in namespaces of its own: loopback alone, and nothing of it stays.
#
#   grid_engine.sh SCRATCH COMMAND...         as root; needs gridengine-master, -exec and -client
set -euo pipefail

if [ "${IN_NAMESPACES:-}" != yes ]; then
    IN_NAMESPACES=yes exec unshare --net --uts --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi

scratch=$1
shift
export SGE_ROOT=/var/lib/gridengine SGE_CELL=default
hostname localhost
ip link set lo up

# What the package has set up is copied, and the copies are mounted over it.
for folder in "$SGE_ROOT" /var/spool/gridengine; do
    copy=$scratch/$(basename "$(dirname "$folder")")
    cp -a "$folder" "$copy"
    mount --bind "$copy" "$folder"
done

until_succeeds() {
    for _ in $(seq 100); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    "$@"
}

sge_qmaster
until_succeeds qconf -sh
qconf -as localhost >/dev/null
# tests in containers are run by root, whose jobs Grid Engine refuses otherwise
qconf -sconf | sed 's/^min_uid .*/min_uid 0/; s/^min_gid .*/min_gid 0/' >"$scratch/global"
qconf -Mconf "$scratch/global" >/dev/null
sge_execd
until_succeeds qconf -se localhost

printf 'group_name @allhosts\nhostlist localhost\n' >"$scratch/hosts"
qconf -Ahgrp "$scratch/hosts" >/dev/null
qconf -sq | sed 's/^qname .*/qname main.q/; s/^hostlist .*/hostlist @allhosts/; s/^slots .*/slots 2/; s/^pe_list .*/pe_list NONE/
    s/^shell .*/shell \/bin\/bash/; s/^load_thresholds .*/load_thresholds NONE/' >"$scratch/queue"
qconf -Aq "$scratch/queue" >/dev/null
qconf -ssconf | sed 's/^schedule_interval .*/schedule_interval 0:0:1/
    s/^flush_submit_sec .*/flush_submit_sec 1/; s/^flush_finish_sec .*/flush_finish_sec 1/' >"$scratch/schedule"
qconf -Msconf "$scratch/schedule" >/dev/null

"$@"
