#!/usr/bin/env bash
# A fit without Dask. A round is an array job with one task for each store, and a job that merges and solves,
# and submits the next round if the model asks for one.
#
#   bash rounds.sh PREPARED.zarr STORE.zarr...         the log of the last job names the last model
#
# Models and sums are in a folder PREPARED-NUMBER. The number belongs to the contents of the prepared model and
# the list of stores, so that fits of other models or stores have other folders. Sums of a model and a store that
# have not changed are used again, so the same command continues after a failure.
#
# ROUNDS is the largest number of rounds. By default it is 3 for a kernel mixture (one of moments and two
# refinements), which asks for more without end, and other models have the rounds that they ask for.
# Where a job may not submit jobs, type after the first round:
#   ROUND=2 bash rounds.sh PREPARED-NUMBER/round-1.zarr STORE.zarr...
set -euo pipefail
here=$(dirname "$0")

[ $# -ge 2 ] || { echo "usage: bash $0 PREPARED.zarr STORE.zarr..." >&2; exit 2; }
for path in "$@"; do
    case $path in
        *://*) ;;
        *) [ -e "$path" ] || { echo "there is no $path in $PWD; no job was submitted" >&2; exit 1; } ;;
    esac
done

# a path that the shell completed ends with a slash
set -- "${@%/}"
model=$1
shift
round=${ROUND:-1}
if [ "$round" = 1 ]; then
    # the metadata of a model hold a digest of its arrays; those at a URL are told apart by the URL
    number=$({ cat "$model/zarr.json" 2>/dev/null || echo "$model"; printf '%s\n' "$@"; } | cksum | cut -d ' ' -f 1)
    folder=$(basename "$model" .zarr)-$number
else
    folder=$(dirname "$model")
fi
mkdir -p "$folder/sums-$round"
accumulate=$(sbatch --parsable --kill-on-invalid-dep=yes \
    --array="0-$(($# - 1))" "$here/accumulate.sbatch" "$model" "$folder/sums-$round" "$@")
solve=$(sbatch --parsable --kill-on-invalid-dep=yes --dependency="afterok:$accumulate" \
    "$here/solve.sbatch" "$model" "$folder" "$round" "$here" "$@")
echo "round $round of $folder: jobs $accumulate and $solve"
