// Scales and tick marks of the page, as plot/ticks.cpp makes them for the picture.

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

// Marks at 1, 2 and 5 times the powers of ten; text where there is room, linear steps where the
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

// The names of an axis that has some, at 1, 2, 3 ..., else numbers.
const ticksOf = (axis, view, most) => {
  const [low, high] = view.map((place) => backward(axis, place));
  if (!axis.names.length) return (axis.log ? logTicks : linearTicks)(low, high, Math.max(2, most));
  return axis.names.map((text, i) => ({value: i + 1, text, strong: true})).filter((tick) => tick.value >= low && tick.value <= high);
};
