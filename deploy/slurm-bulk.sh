#!/bin/bash
# docflat bulk as a Slurm array: sbatch deploy/slurm-bulk.sh corpus.parquet /shared/out
# The input and the output folder are on a file system that all nodes share. A task that was killed goes on when it is
# queued again, and so does the whole array: what has been done is not done again.
#SBATCH --job-name=docflat-bulk
#SBATCH --array=0-15
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=24:00:00
#SBATCH --requeue
set -euo pipefail
input=$1 out=$2

# Before the first array, once and on one node, so that not every task reads all of the input:
#   docflat bulk "$input" -o "$out" --plan-only
exec docflat bulk "$input" -o "$out" --slice "$((SLURM_ARRAY_TASK_ID + 1))/$SLURM_ARRAY_TASK_COUNT"
