// Scales and ticks of the page, the same as those of the picture (plot/ticks.cpp).

const forward = (axis, value) => (axis.log ? Math.log10(value) : value);
const backward = (axis, place) => (axis.log ? 10 ** place : place);

const superscript = (n) => [...String(n)].map((c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)])).join('');

const numberText = (value, digits = 4) => {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e6) return String(Number(value.toPrecision(digits)));
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
  const shown = String(Number(mantissa));
  return (shown === '1' ? '' : shown + '×') + '10' + superscript(Number(exponent));
};

const stepAtLeast = (value) => {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= value * (1 - 1e-9));
};

const linearTicks = (low, high, most) => {
  const step = stepAtLeast((high - low) / Math.max(1, most - 1));
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    out.push({value: i * step, text: numberText(Number((i * step).toPrecision(12)), 6), strong: true});
  }
  return out;
};

// Ticks at 1, 2 and 5 times the powers of ten, with text if there is room; linear steps if the
// range is too narrow.
const logTicks = (low, high, most) => {
  const all = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) {
    for (const m of [1, 2, 5]) {
      const value = m * 10 ** e;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) all.push({value, text: '', strong: m === 1});
    }
  }
  if (all.length < 4) return linearTicks(low, high, most);
  const decades = all.filter((tick) => tick.strong).length;
  const stride = Math.ceil(decades / most);
  let decade = 0;
  for (const tick of all) {
    const every = all.length <= most || (tick.strong && decade % stride === 0);
    if (tick.strong) ++decade;
    if (every) tick.text = numberText(tick.value);
  }
  return all;
};

// Each power of two times the first value of an axis whose values double, as in plot/ticks.cpp.
const doubledText = (value) => {
  for (const [unit, word] of [[2 ** 30, 'Gi'], [2 ** 20, 'Mi']]) {
    const units = value / unit;
    if (units >= 1 && units < 1e5 && Number.isInteger(units)) return units + word;
  }
  return value < 1e7 && Number.isInteger(value) ? String(value) : numberText(value);
};

const doubledTicks = (first, low, high, most) => {
  const lowest = Math.ceil(Math.log2(low / first) - 1e-9);
  const highest = Math.floor(Math.log2(high / first) + 1e-9);
  const stride = Math.floor((highest - lowest) / most) + 1;
  const out = [];
  for (let i = lowest; i <= highest; ++i) {
    const strong = i % stride === 0;
    out.push({value: first * 2 ** i, text: strong ? doubledText(first * 2 ** i) : '', strong});
  }
  return out;
};

// The names of an axis that has names, at 1, 2, 3 ..., otherwise numbers.
const ticksOf = (axis, view, most) => {
  const [low, high] = view.map((place) => backward(axis, place));
  if (axis.doubling && axis.log) {
    const doubled = doubledTicks(axis.doubling, low, high, Math.max(2, Math.floor(most)));
    if (doubled.length > 2) return doubled;
  }
  if (!axis.names.length) return (axis.log ? logTicks : linearTicks)(low, high, Math.max(2, most));
  return axis.names.map((text, i) => ({value: i + 1, text, strong: true})).filter((tick) => tick.value >= low && tick.value <= high);
};
