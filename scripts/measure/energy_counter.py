"""Reads NVML's energy counter while a GPU works, and finds power and energy from its readings.

    from energy_counter import Counter, window_of
    counter = Counter()                      # the first GPU
    counter.poll(now)                        # as often as possible while the GPU works
    window = window_of(counter.readings, start, end)      # {"power_w": 512.3, "seconds": 2.98, ...}

Method. The counter (nvmlDeviceGetTotalEnergyConsumption, mJ) moves in steps, 20 to 100 ms apart. A window lasts
from one step to another, so neither the period of the counter nor its lag changes the power of steady work. The
error is twice the longest time between two polls that saw a step, over the length of the window, and the standard
error of the slope of the steps.

Limits: the absolute accuracy of the board's sensors is theirs (about 5 W by NVIDIA's documentation). Nothing is set.
"""
import ctypes
import math
import time

SM, MEMORY = 1, 2
IDLE_REASON = 0x1
REASONS = {0x2: "applications_clocks", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x20: "sw_thermal",
           0x40: "hw_thermal", 0x80: "hw_power_brake"}


class Counter:
    """The energy counter of one GPU, with its clocks and temperature."""

    def __init__(self, ordinal=0):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.require(self.library.nvmlInit_v2(), "nvmlInit")
        self.device = ctypes.c_void_p()
        self.require(self.library.nvmlDeviceGetHandleByIndex_v2(ordinal, ctypes.byref(self.device)), "handle")
        self.restart()

    def restart(self):
        """Forgets what was read."""
        self.readings, self.states, self.before, self.last = [], [], time.monotonic(), None

    @staticmethod
    def require(code, call):
        if code != 0:
            raise RuntimeError(f"NVML: {call} failed with {code}")

    def unsigned(self, name, *arguments):
        value = ctypes.c_uint()
        code = getattr(self.library, name)(self.device, *arguments, ctypes.byref(value))
        return value.value if code == 0 else None

    def energy(self):
        value = ctypes.c_ulonglong()
        self.require(self.library.nvmlDeviceGetTotalEnergyConsumption(self.device, ctypes.byref(value)), "energy")
        return value.value * 1e-3

    def poll(self):
        """Notes the time of a step of the counter, and the state of the GPU there."""
        joules, now = self.energy(), time.monotonic()
        gap, self.before = now - self.before, now
        if self.last is not None and joules != self.last:
            self.readings.append((now, joules, gap))
        self.last = joules
        if not self.states or now - self.states[-1]["at"] > 0.1:
            self.states.append({"at": now, **self.state()})

    def state(self):
        reasons = ctypes.c_ulonglong()
        code = self.library.nvmlDeviceGetCurrentClocksEventReasons(self.device, ctypes.byref(reasons))
        bits = reasons.value & ~IDLE_REASON if code == 0 else 0
        mega = {"sm_clock_hz": ("nvmlDeviceGetClockInfo", SM), "memory_clock_hz": ("nvmlDeviceGetClockInfo", MEMORY)}
        found = {name: value * 1e6 for name, call in mega.items() if (value := self.unsigned(*call)) is not None}
        for name, call, unit in (("power_w", ("nvmlDeviceGetPowerUsage",), 1e-3),
                                 ("power_limit_w", ("nvmlDeviceGetEnforcedPowerLimit",), 1e-3),
                                 ("temperature_celsius", ("nvmlDeviceGetTemperature", 0), 1.0)):
            if (value := self.unsigned(*call)) is not None:
                found[name] = value * unit
        words = [word for bit, word in REASONS.items() if bits & bit]
        return {**found, **({"clock_reasons": words} if words else {})}

    def idle(self, seconds):
        """The window of a GPU that does nothing for so long."""
        self.restart()
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            self.poll()
            time.sleep(5e-4)
        return window_of(self.readings, start, time.monotonic())


def window_of(readings, start, end):
    """Power between the first and the last step of the counter in a span of time; None without two steps."""
    inside = [each for each in readings if start <= each[0] <= end]
    if len(inside) < 2:
        return None
    seconds, joules = inside[-1][0] - inside[0][0], inside[-1][1] - inside[0][1]
    steps = sorted(b[0] - a[0] for a, b in zip(inside, inside[1:]))
    gap = max(inside[0][2], inside[-1][2])
    count = len(inside)
    mean = sum(each[0] for each in inside) / count, sum(each[1] for each in inside) / count
    spread = sum((each[0] - mean[0]) ** 2 for each in inside)
    slope = sum((each[0] - mean[0]) * (each[1] - mean[1]) for each in inside) / spread
    rest = sum((each[1] - mean[1] - slope * (each[0] - mean[0])) ** 2 for each in inside)
    slope_error = math.sqrt(rest / max(1, count - 2) / spread) / slope if slope > 0.0 else 0.0
    return {"power_w": joules / seconds, "slope_w": slope, "seconds": seconds,
            "update_s": steps[len(steps) // 2], "error": math.hypot(2.0 * gap / seconds, slope_error)}


def mean_of(states, name, start, end):
    values = [each[name] for each in states if name in each and start <= each["at"] <= end]
    return sum(values) / len(values) if values else None
