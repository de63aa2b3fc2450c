"""How far predictions are off, as scripts of accuracy and fits print it.

    mean_size([0.03, -0.05])        # 0.04: relative errors, predicted over measured - 1
    summary([0.03, -0.05])          # "4.0 % mean, 4.0 % median, bias -1.0 %, 2 rows"
"""
import statistics


def mean_size(errors):
    return statistics.fmean(map(abs, errors))


def summary(errors):
    errors = list(errors)
    return (f"{100 * mean_size(errors):.1f} % mean, {100 * statistics.median(map(abs, errors)):.1f} % median, "
            f"bias {100 * statistics.fmean(errors):+.1f} %, {len(errors)} rows")
