#!/usr/bin/env bash
# A Dask scheduler and workers on this machine, on loopback only, until Ctrl-C or SIGTERM.
# They encrypt traffic (TLS) with a certificate for this run, because other users can reach the ports.
#
#   start_cluster.sh [WORKERS] [MEMORY_LIMIT] [PORT]     default: 2 2GiB 8786
#
# PYTHON names the interpreter of the environment that holds bigtensor (default: python3).
set -euo pipefail

workers=${1:-2}
memory_limit=${2:-2GiB}
port=${3:-8786}
python=${PYTHON:-python3}
address="tls://127.0.0.1:$port"

if ! "$python" -c "import bigtensor.cli, distributed" 2>/dev/null; then
    echo "start_cluster.sh: $python cannot import bigtensor or distributed; activate its environment or set PYTHON" >&2
    exit 1
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/bigtensor-cluster.XXXXXX")
started=()

stop() {
    trap - EXIT INT TERM
    # only what was started here, the workers before the scheduler that they report to
    for ((i = ${#started[@]} - 1; i >= 0; i--)); do
        kill -TERM "${started[i]}" 2>/dev/null || true
        wait "${started[i]}" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap stop EXIT
trap 'exit 0' INT TERM

# The folder is closed to other users. Dask also puts its folder on the path of modules.
export DASK_TEMPORARY_DIRECTORY=$scratch
(umask 077; "$python" - "$scratch") <<'PYTHON'
import sys
from pathlib import Path

from distributed.security import Security

folder, security = Path(sys.argv[1]), Security.temporary()
(folder / "certificate.pem").write_text(security.tls_ca_file)
(folder / "key.pem").write_text(security.tls_client_key)
PYTHON
export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True
export DASK_DISTRIBUTED__COMM__TLS__CA_FILE=$scratch/certificate.pem
for role in SCHEDULER WORKER CLIENT; do
    export "DASK_DISTRIBUTED__COMM__TLS__${role}__CERT=$scratch/certificate.pem"
    export "DASK_DISTRIBUTED__COMM__TLS__${role}__KEY=$scratch/key.pem"
done
export -p | grep -E 'DASK_DISTRIBUTED__COMM__(REQUIRE|TLS__(CA|CLIENT))' >"$scratch/client.sh"

# Web pages about tasks and logs would be open to everybody, so they are switched off.
export DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES='[]' DASK_DISTRIBUTED__WORKER__HTTP__ROUTES='[]'

# The tasks of a pass are alike, so that stealing them gains nothing, and it can deadlock
# (dask/distributed#8787).
export DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING=False

# Read buffers are used again; as Dask starts workers, glibc gives every one of them back, and
# reading takes twice as long.
export MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=16777216 MALLOC_TRIM_THRESHOLD_=33554432

"$python" -m dask scheduler --host 127.0.0.1 --port "$port" --protocol tls --no-dashboard --no-show \
    >"$scratch/scheduler.log" 2>&1 &
started+=($!)

"$python" -m dask worker "$address" --host 127.0.0.1 --nworkers "$workers" --nthreads 1 \
    --memory-limit "$memory_limit" --no-dashboard --local-directory "$scratch" \
    >"$scratch/workers.log" 2>&1 &
started+=($!)

if ! "$python" - "$address" "$workers" <<'PYTHON'
import sys

from distributed import Client

with Client(sys.argv[1], timeout="30s") as client:
    client.wait_for_workers(int(sys.argv[2]), timeout=60)
PYTHON
then
    echo "start_cluster.sh: the cluster did not start; its logs:" >&2
    tail -n 20 "$scratch"/*.log >&2
    exit 1
fi

echo "in the terminal that uses them: . $scratch/client.sh"
echo "ready: $workers workers of one thread and $memory_limit at $address (Ctrl-C ends them)"
wait -n "${started[@]}" || true
echo "start_cluster.sh: a process of the cluster ended; its logs:" >&2
tail -n 20 "$scratch"/*.log >&2
exit 1
