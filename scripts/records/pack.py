#!/usr/bin/env python3
"""Packs records of `ridge measure` (JSON lines) into the files of records/, a tenth of their size.

    scripts/records/pack.py OUT/matmul.jsonl OUT/copy.jsonl      # writes OUT/matmul.jsonl.gz, OUT/copy.jsonl.gz
    scripts/records/pack.py --into records/h200-sxm-judge OUT/*.jsonl
    scripts/records/pack.py --print records/h200-sxm-judge/copy.jsonl.gz | head -1    # each record in full

The format is that of docs/measuring.md: gzip; a first line with schema 2, then one line for each record with what differs
from the record before it. What follows from the samples is left out of the statistics. Times and all other values are
kept exactly, clocks of samples and their mean to seven significant digits. The same records give
the same bytes.

Limits: the records of a file are held in memory. A damaged line is an error: `ridge validate` names it.
"""
import argparse
import gzip
import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import record_files  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path, help="folder for the packed files (default: beside the records)")
    parser.add_argument("--print", action="store_true", help="print the records of the files, one in full on each line")
    options = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    for path in options.files:
        if options.print:
            for _, record in record_files.records_of(path):
                print(json.dumps(record, separators=(",", ":"), ensure_ascii=False))
            continue
        folder = options.into or path.parent
        folder.mkdir(parents=True, exist_ok=True)
        lines = record_files.packed(record for _, record in record_files.records_of(path))
        target = folder / (path.name.removesuffix(".gz") + ".gz")
        text = "".join(line + "\n" for line in lines).encode()
        target.write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
