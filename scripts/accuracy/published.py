"""Published rates of matrix products beside predictions: page "Published" of `accuracy.py`.

    python3 scripts/accuracy/published.py RIDGE            # prints only the tables

The rates and their sources are in records/published/products.csv. Limits: one card of one owner each. A few descriptions
take figures of cards that nobody else measured from here (their notes say so); for those this is a check of consistency,
for the others a test.
"""
import collections
import csv
import io
import pathlib
import subprocess
import sys

from errors import mean_size

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCTS = ROOT / "records" / "published" / "products.csv"
#: The sizes of which "best" is the best.
SIZES = (1024, 2048, 4096, 8192, 10240)
#: From this size on, neither launches nor a clock that has not risen yet matter.
LARGE = 4096
SUMMARY = f"""| GPU | figures | mean | in band | of {LARGE} and more, and the best | mean | largest |
|---|---:|---:|---:|---:|---:|---:|
"""
HEAD = """| GPU | type | m = n = k | published TFLOP/s | predicted | error of the time | in band | source |
|---|---|---:|---:|---:|---:|---|---|
"""


class Figure:
    """One published rate and ridge's prediction; `large` unless the product is small."""

    def __init__(self, row, answers):
        fastest = min(answers, key=lambda answer: float(answer["time_us"]) / work(answer))
        self.row = row
        self.large = row["size"] == "best" or int(row["size"]) >= LARGE
        self.published = float(row["tflops"])
        self.rate = work(fastest) / float(fastest["time_us"])
        self.error = self.published / self.rate - 1
        measured = work(fastest) / self.published
        self.inside = float(fastest["time_low_us"]) <= measured <= float(fastest["time_high_us"])


def work(answer):
    return float(answer["flop"]) / 1e6  # TFLOP/s times microseconds


def rows():
    lines = [line for line in PRODUCTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def figures(ridge):
    of_gpu = collections.defaultdict(list)
    for row in rows():
        of_gpu[row["gpu"]].append(row)
    found = []
    for gpu, published in of_gpu.items():
        asked = [(row, size) for row in published
                 for size in (SIZES if row["size"] == "best" else (int(row["size"]),))]
        table = "op,m,n,k,dtype,l2,launch\n" + "".join(
            f"matmul,{size},{size},{size},{row['dtype']},warm,kernel\n" for row, size in asked)
        text = subprocess.run([ridge, "predict", "--from", "-", "--format", "csv", "--gpu", gpu], input=table,
                              capture_output=True, text=True, check=True).stdout
        answers = list(csv.DictReader(io.StringIO(text)))
        for row in published:
            found.append(Figure(row, [answer for answer, (of, _) in zip(answers, asked) if of is row]))
    return found


def mean(found):
    return 100 * mean_size(figure.error for figure in found)


def part(ridge):
    """Both tables, in Markdown."""
    of_gpu = collections.defaultdict(list)
    lines = ""
    for figure in figures(ridge):
        row = figure.row
        of_gpu[row["gpu"]].append(figure)
        lines += (f"| {row['gpu']} | {row['dtype']} | {row['size']} | {figure.published:g} | {figure.rate:.1f} | "
                  f"{100 * figure.error:+.1f} % | {'yes' if figure.inside else 'no'} | {row['source']}, {row['date']} |\n")
    text = SUMMARY
    for gpu, found in of_gpu.items():
        large = [figure for figure in found if figure.large]
        text += (f"| {gpu} | {len(found)} | {mean(found):.1f} % | {sum(figure.inside for figure in found)} | {len(large)} | "
                 f"{mean(large):.1f} % | {100 * max(abs(figure.error) for figure in large):.1f} % |\n")
    return text + "\n" + HEAD + lines


if __name__ == "__main__":
    print(part(sys.argv[1]), end="")
