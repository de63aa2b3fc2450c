"""How far predictions are off, as scripts of accuracy and fits print it.

    mean_size([0.03, -0.05])        # 0.04: relative errors, predicted over measured - 1
    summary([0.03, -0.05])          # "4.0 % mean, 4.0 % median, bias -1.0 %, 2 rows"
    one = Judged(12.0, 10.0, 11.0, 14.0)   # predicted, measured, and the ends of the 80 % band, in one unit
    one.inside, one.score()         # False, 0.24 + 0.95: the width of the band in ln, and ten times what the measured time lies outside of it

The interval score (Gneiting and Raftery 2007) is least in the mean for the band of the true quantiles: too wide costs, too narrow costs more.
"""
import math
import statistics

INSIDE = 0.8  # share of measured times that a band is to hold


def mean_size(errors):
    return statistics.fmean(map(abs, errors))


def summary(errors):
    errors = list(errors)
    return (f"{100 * mean_size(errors):.1f} % mean, {100 * statistics.median(map(abs, errors)):.1f} % median, "
            f"bias {100 * statistics.fmean(errors):+.1f} %, {len(errors)} rows")


class Judged:
    """A measured time beside its prediction and band."""

    def __init__(self, predicted, measured, low, high):
        self.error = predicted / measured - 1.0
        self.log = math.log(measured / predicted)
        self.low, self.high = math.log(low / predicted), math.log(high / predicted)
        self.inside = low <= measured <= high

    @classmethod
    def of(cls, row):
        """Of a row of `ridge predict --from`; None if it has no time or no band."""
        if not row.get("time_us") or not row.get("time_low_us") or float(row["time_low_us"]) <= 0.0:
            return None
        return cls(*(float(row[name]) for name in ("time_us", "measured_us", "time_low_us", "time_high_us")))

    def score(self, low=None, high=None):
        """The interval score of its band, or of another one in ln around the prediction."""
        low, high = (self.low, self.high) if low is None else (low, high)
        return high - low + 2.0 / (1.0 - INSIDE) * max(low - self.log, self.log - high, 0.0)

    def plain_score(self):
        """That of a band of a factor 2 on either side."""
        return self.score(-math.log(2.0), math.log(2.0))
