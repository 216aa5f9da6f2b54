#!/usr/bin/env bash
# A fit without Dask. A round is an array job with one task for each store, and a job that merges and solves,
# and submits the next round if the model asks for one.
#
#   bash rounds.sh PREPARED.zarr STORE.zarr...         the log of the last job names the last model
#
# ROUNDS is the largest number of rounds. By default it is 3 for a kernel mixture (one of moments and two
# refinements), which asks for more without end, and other models have the rounds that they ask for. Sums
# of a model and a store that have not changed are used again, so the same command continues after a failure.
# Where a job may not submit jobs, type after the first round:  ROUND=2 bash rounds.sh round-1.zarr STORE.zarr...
set -euo pipefail
here=$(dirname "$0")

model=$1
shift
round=${ROUND:-1}
# sums have the numbers of their stores, so that another list of stores has another folder
folder=sums-$round-$(printf '%s\n' "$@" | cksum | cut -d ' ' -f 1)
mkdir -p "$folder"
accumulate=$(sbatch --parsable --kill-on-invalid-dep=yes \
    --array="0-$(($# - 1))" "$here/accumulate.sbatch" "$model" "$folder" "$@")
solve=$(sbatch --parsable --kill-on-invalid-dep=yes --dependency="afterok:$accumulate" \
    "$here/solve.sbatch" "$model" "$folder" "$round" "$here" "$@")
echo "round $round: jobs $accumulate and $solve"
