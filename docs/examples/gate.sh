#!/bin/sh
# Judge recorded conversations, decide whether they may go on, and write a summary, a page and a JUnit file.
#
#   sh gate.sh chats.jsonl openai:gpt-5.2 [last-release.study.db]
#
# It ends with the exit code of `attune gate`:
#   0  nothing stands against these conversations
#   1  something failed or is unsafe; with a last release also: something is worse than there
#   2  a command could not run
#   3  nothing failed, but something was not judged, is incomplete, or needs a person
# What is already in the study is not asked again. Set STUDY, INSTRUMENT, OUT or GATE to change the defaults below.
set -u

if [ $# -lt 2 ]; then
    echo "usage: gate.sh CHATS JUDGE [LAST_STUDY]" >&2
    exit 2
fi
chats=$1 judge=$2 last=${3:-}
study=${STUDY:-release.study.db}
out=${OUT:-attunement}
mkdir -p "$out" || exit 2

ask() {
    attune judge "$chats" --judge "$judge" --instrument "${INSTRUMENT:-coaching-v1}" --study "$study" --quiet "$@"
}
# 3 means that some answers did not come. They are asked for once more; what is still missing then, the gate names.
ask
asked=$?
if [ $asked -eq 3 ]; then
    ask --retry-errors
    asked=$?
fi
case $asked in 0 | 3) ;; *) exit 2 ;; esac

# Options of the gate, such as GATE="--min-conversations 60 --min-pass-rate 0.9", are split at spaces on purpose.
# shellcheck disable=SC2086
attune gate "$study" ${GATE:-} --json > "$out/gate.json"
code=$?
case $code in 0 | 1 | 3) ;; *) exit 2 ;; esac

if [ -n "$last" ]; then
    attune compare "$study" --baseline "$last" --markdown > "$out/comparison.md"
    compared=$?
    case $compared in 0 | 1 | 3) ;; *) exit 2 ;; esac
    # 1 wins over 3, and 3 over 0.
    if [ $code -ne 1 ] && [ $compared -ne 0 ]; then code=$compared; fi
fi

# The summary may end up in public, so it holds no words of any conversation. The page and the JUnit file do.
attune report "$study" --markdown "$out/summary.md" --gate "$out/gate.json" --no-text --force \
    ${last:+--baseline "$last"} || exit 2
attune report "$study" -o "$out/report.html" --junit "$out/junit.xml" --force >&2 || exit 2
cat "$out/summary.md"
exit $code
