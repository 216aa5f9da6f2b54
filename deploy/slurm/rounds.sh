#!/usr/bin/env bash
# A fit without Dask. A round is an array job with one task for each store, and a job that merges and solves.
#
#   bash rounds.sh PREPARED.zarr STORE.zarr...         submits all rounds; the last model is round-3.zarr
#
# ROUNDS is their number (default: 3, one of moments and two refinements). Sums of a model and a store
# that have not changed are used again, so the same command continues after a failure.
set -euo pipefail
here=$(dirname "$0")

model=$1
shift
previous=()
for ((round = 1; round <= ${ROUNDS:-3}; round++)); do
    # sums have the numbers of their stores, so that another list of stores has another folder
    folder=sums-$round-$(printf '%s\n' "$@" | cksum | cut -d ' ' -f 1)
    mkdir -p "$folder"
    accumulate=$(sbatch --parsable --kill-on-invalid-dep=yes "${previous[@]}" \
        --array="0-$(($# - 1))" "$here/accumulate.sbatch" "$model" "$folder" "$@")
    solve=$(sbatch --parsable --kill-on-invalid-dep=yes --dependency="afterok:$accumulate" \
        "$here/solve.sbatch" "$model" "$folder" "round-$round.zarr")
    echo "round $round: jobs $accumulate and $solve"
    model=round-$round.zarr
    previous=(--dependency="afterok:$solve")
done
