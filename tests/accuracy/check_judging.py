#!/usr/bin/env python3
"""Checks that scripts/accuracy/accuracy.py refuses to judge by records that a fit has seen. Usage: check_judging.py ROOT"""
import importlib.util
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])


def script():
    spec = importlib.util.spec_from_file_location("accuracy", ROOT / "scripts/accuracy/accuracy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folder_of(parent, name, **members):
    folder = parent / name
    folder.mkdir()
    (folder / "copy.jsonl").write_text(json.dumps(members) + "\n", encoding="utf-8")
    return folder


def refusal(accuracy, folder, training):
    try:
        accuracy.judging_seeds(folder, training)
    except SystemExit as refused:
        return str(refused)
    return ""


def main():
    accuracy = script()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        training = [folder_of(scratch, "training", seed=7, date="2026-01-02T00:00:00Z")]
        fresh = folder_of(scratch, "fresh", seed=11, date="2026-01-03T00:00:00Z")
        assert accuracy.judging_seeds(fresh, training) == [11]
        both = folder_of(scratch, "both", seed=315, date="2026-01-01T00:00:00Z")
        (both / "sum.jsonl").write_text((fresh / "copy.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
        assert accuracy.judging_seeds(both, training) == [11, 315]  # 315 is on the list of earlier judging seeds
        cases = {
            "the fits have seen it (training)": {"seed": 7, "date": "2026-01-03T00:00:00Z"},
            "no seed": {"date": "2026-01-03T00:00:00Z"},
            "draw a seed after the fits": {"seed": 11, "date": "2026-01-01T00:00:00Z"},
        }
        for number, (words, members) in enumerate(cases.items()):
            folder = folder_of(scratch, str(number), **members)
            said = refusal(accuracy, folder, training)
            assert words in said, (words, said)
        (scratch / "empty").mkdir()
        assert "no records" in refusal(accuracy, scratch / "empty", training)
    # The committed random records were looked at, so they can no longer judge.
    records = ROOT / "records"
    committed = [records / name for name in accuracy.TRAINING]
    assert "cannot judge" in refusal(accuracy, records / "h200-sxm-random", committed)


if __name__ == "__main__":
    main()
