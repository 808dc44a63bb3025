#!/bin/bash
# docflat train on several nodes: sbatch deploy/slurm-train.sh recipe.yaml [SETTING=VALUE ...]
# `data` and `out` of the recipe are on a file system that all nodes share. A job that was killed, or whose node was,
# is queued again and goes on from the last checkpoint; so does `sbatch` of the same command.
#SBATCH --job-name=docflat-train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=32
#SBATCH --time=48:00:00
#SBATCH --requeue
set -euo pipefail

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
exec srun --kill-on-bad-exit=1 torchrun \
  --nnodes "$SLURM_NNODES" --nproc-per-node "${SLURM_GPUS_ON_NODE:-8}" \
  --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d --rdzv-endpoint "$head:29500" --max-restarts 3 \
  -m docflat train "$@"
