#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the cases on a private cluster share. Sourced by run.sh, whose folders it uses: root, cluster, work.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154

# The longest that anything below waits; a busy machine is slow.
readonly kPatience=60

start_cluster() {
  "$root/slurm/dev-cluster/start.sh" --dir "$cluster" "$@" >/dev/null
  # shellcheck source=/dev/null
  . "$cluster/env.sh"
}

# broken MESSAGE: the case has failed; what there is to see.
broken() {
  local file
  printf 'FAILED at line %s: %s\n' "${BASH_LINENO[1]}" "$*"
  { squeue -o '%i %j %T %r %N'; sinfo -N; } 2>/dev/null || true
  for file in "$cluster"/log/slurm*.log "$work"/*.log "$work"/*/logs/*.log "$work"/*/*/logs/*.log; do
    if [ -e "$file" ]; then printf -- '--- %s\n%s\n' "$file" "$(tail -n 40 "$file")"; fi
  done
  exit 1
}

expect_equal() { [ "$1" = "$2" ] || broken "${3:-}: expected '$1', got '$2'"; }
expect_in() { grep -qE -e "$2" "$1" || broken "no '$2' in $1"; }
expect_not_in() { ! grep -qE -e "$2" "$1" || broken "'$2' in $1"; }

# eventually COMMAND...: true within kPatience seconds.
eventually() {
  local end=$((SECONDS + kPatience))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || broken "not within $kPatience s: $*"
    sleep 0.2
  done
}

# What the runs of all cases have in common: they take a second or two.
run_keys() {
  cat <<'TOML'
sequence-length = 32
global-batch-size = 8
micro-batch-size = 2
steps = 30
checkpoint-every = "10"
threads = 1
precision = "fp32"
lr = 1e-3
tensorboard = false
TOML
}

# A small model, and a run of it.
write_config() {
  cat >model.json <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 1024, "hidden_size": 64, "intermediate_size": 172,
 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
 "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true, "hidden_act": "silu"}
JSON
  cat >run.toml <<TOML
[train]
model = "model.json"
data = ["$root/tests/golden/data/megatron/bpe-u16"]
foreign-data = true
$(run_keys)
TOML
}
# pause_before STEP SECONDS: the flags, in `pause`, of a run that stands still before STEP ends, so that something can happen to it.
pause_before() { pause=(--fault "slow:rank=0,sleep=$2s,phase=data,steps=$1-$1"); }
two_by_two=(--nodes=2 --ntasks-per-node=2 --cpus-per-task=1)

# train [SBATCH_OPTION]... -- FLAGS...: submits train.sbatch on two nodes with two tasks each; the job's id is in `job`, and its log
# is JOB.log.
train() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  job=$(sbatch --parsable --output=%j.log "${two_by_two[@]}" "${options[@]}" "$root/slurm/train.sbatch" --config run.toml "$@")
}

field() { scontrol show job "$1" 2>/dev/null | sed -n "s/.*\b$2=\([^ ]*\).*/\1/p" | head -n 1; }
state() { field "$1" JobState; }
restarts() { field "$1" Restarts; }
# The newest step of RUN.
step() { if [ -s "$1/metrics.jsonl" ]; then tail -n 1 "$1/metrics.jsonl" | sed -n 's/.*"step":\([0-9]*\).*/\1/p'; else echo 0; fi; }
status_of() { sed -n "s/.*\"$2\":\"\?\([^\",}]*\).*/\1/p" "$1/status.json"; }

at_step() { [ "$(step "$1")" -ge "$2" ]; }
# is_over JOB: in a state that it does not leave. (A job that is back in the queue must not be hurried on: the nodes still refuse
# its old credentials.)
is_over() {
  case $(state "$1") in
    PENDING | RUNNING | COMPLETING | CONFIGURING | SUSPENDED | REQUEUED | '') return 1 ;;
  esac
}
# expect_end JOB STATE [EXIT_CODE]
expect_end() {
  eventually is_over "$1"
  expect_equal "$2" "$(state "$1")" "the state of job $1"
  if [ $# -gt 2 ]; then expect_equal "$3:0" "$(field "$1" ExitCode)" "the exit code of job $1"; fi
}

# reference: an uninterrupted run of the same, whose metrics are what every other must have.
reference() {
  srun --mpi=pmix "${two_by_two[@]}" convoy-train run --config run.toml --out reference >reference.out 2>&1 || broken "$(cat reference.out)"
}
expect_as_reference() {
  cmp "$1/metrics.jsonl" reference/metrics.jsonl || broken "the metrics of $1 are not those of an uninterrupted run"
}

# rank_processes RANK: pids of convoy-train that are this rank (a regular expression) of a job.
rank_processes() (
  local environ pid
  exec 2>/dev/null  # processes come and go
  { grep -lzxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ || true; } | while read -r environ; do
    pid=${environ//[^0-9]/}
    if grep -qzxE "SLURM_PROCID=$1" "$environ" &&
      head -zn 1 "/proc/$pid/cmdline" | grep -qa 'convoy-train'; then
      echo "$pid"
    fi
  done
)

# A corpus of a few documents, and a tokenizer for it.
write_corpus() {
  local i
  mkdir corpus
  for i in 1 2 3; do sed -n "$((20 * i)),$((20 * i + 60))p" "$root/LICENSE" >"corpus/$i.txt"; done
  cp "$root/tests/golden/data/models/bpe.model" tokenizer.model
}

# chain.toml, of the corpus and of a run as in write_config.
write_chain() {
  write_config
  cat >chain.toml <<TOML
[site]
setup = ["export SEEN='a  b'"]
[preprocess]
inputs = ["corpus"]
document-separator = "blank-line"
tokenizer = "tokenizer.model"
shards = 4
out-dir = "the shards"
cpus-per-task = 1
[merge]
out = "data/merged"
[train]
nodes = 2
ntasks-per-node = 2
cpus-per-task = 1
time = 10
model = "model.json"
$(run_keys)
out = "the run"
[export]
out = "hf"
[report]
TOML
}
# job_of STAGE: the newest job of chain.toml's.
job_of() { sed -n "s/^$1 \([0-9]*\) .*/\1/p" logs/chain.jobs | tail -n 1; }
nothing_queued() { [ -z "$(squeue --noheader)" ]; }
