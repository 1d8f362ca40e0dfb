#!/bin/sh
# The tour of `make demo`: what is in the file, what is asked about it, and the exact words a judge would read.
set -eu
cd "$(dirname "$0")"

say() { printf '\n\033[1m%s\033[0m\n\n' "$*"; }

say '1. What is in the file: attune stats first.jsonl'
attune stats first.jsonl

say '2. What is asked: attune instrument show coaching-v1 --item CQ9'
attune instrument show coaching-v1 --item CQ9

say '3. What a judge reads, to the letter: attune prompt first.jsonl --instrument coaching-v1 --item CQ9'
attune prompt first.jsonl --instrument coaching-v1 --item CQ9

say 'To have all of it judged by a model: attune judge first.jsonl --instrument coaching-v1 --judge openai:MODEL'
