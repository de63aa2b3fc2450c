// Gradients are small. A loss multiplied by a power of two moves them into the range of the format.
{
  const formats = {fp16: {low: -25, high: 16, name: 'fp16'}, bf16: {low: -134, high: 128, name: 'bf16'}, e5m2: {low: -17, high: 15.8, name: 'fp8 e5m2'}};
  const [centre, spread] = [-19, 5];  // of the example's gradients, as powers of two
  // Abramowitz and Stegun 7.1.26.
  const erf = (x) => {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const y = 1 - (((((1.061405429 * t - 1.453152027) * t) + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * Math.exp(-x * x);
    return x < 0 ? -y : y;
  };
  const below = (x) => 0.5 * (1 + erf((x - centre) / (spread * Math.SQRT2)));
  const lostAt = (shift, {low, high}) => ({zero: below(low - shift), over: 1 - below(high - shift)});

  const draw = (pen, f) => {
    const [from, to] = [-44, 28];
    const scale = pen.w / (to - from);
    const at = (power) => (power - from) * scale;
    const floor = 230;
    const {low, high} = f.format;
    pen.box(Math.max(0, at(low)), 24, Math.min(pen.w, at(high)) - Math.max(0, at(low)), floor - 24, {fill: 'mint'});
    pen.text(Math.max(6, at(low) + 6), 42, `range of ${f.format.name}`, {size: 12, fill: 'green', bold: true});
    const step = 1;
    for (let power = from; power < to; power += step) {
      const share = below(power + step - f.shift) - below(power - f.shift);
      const height = share * 2200;
      const fill = power + step <= low ? 'orange' : power >= high ? 'purple' : 'blue';
      pen.box(at(power) + 0.5, floor - height, scale - 1, height, {fill});
    }
    pen.path([[0, floor], [pen.w, floor]], {stroke: 'soft'});
    for (let power = -40; power <= 24; power += 16) pen.text(at(power), floor + 18, powerOfTwo(power), {size: 12, align: 'center', fill: 'soft'});
    pen.text(0, floor + 44, `lost to zero: ${shareText(f.zero)}`, {fill: 'orange', bold: true});
    pen.text(pen.w, floor + 44, `too large: ${shareText(f.over)}`, {fill: 'purple', bold: true, align: 'right'});
    pen.text(0, 14, 'gradients, by size', {size: 13});
  };

  lesson('loss-scaling', {
    title: 'Loss scaling',
    question: 'Gradients around 2⁻¹⁹ in fp16: what does it help to multiply the loss by 1024?',
    guess: {choices: ['nothing', 'it saves a few per cent', 'it saves most of them'], limits: [0.01, 0.5], counted: true, value: () => lostAt(0, formats.fp16).zero - lostAt(10, formats.fp16).zero, told: (value) => `${percentOf(value)} of the gradients no longer vanish`},
    controls: [
      {slide: 'shift', name: 'loss × 2 to the power of', low: 0, high: 40, start: 0},
      {choose: 'format', name: 'Format', of: [['fp16', 'fp16'], ['bf16', 'bf16'], ['e5m2', 'fp8 e5m2']], start: 'fp16'},
    ],
    counted: true,
    study(state) {
      const shift = clampTo(state.shift, 0, 40);
      const format = formats[state.format] || formats.fp16;
      const {zero, over} = lostAt(shift, format);
      const best = Array.from({length: 41}, (_, i) => i).map((i) => [i, lostAt(i, format).zero + lostAt(i, format).over]).sort((a, b) => a[1] - b[1])[0];
      return {shift, format, zero, over, lost: zero + over, best, plain: lostAt(0, format).zero + lostAt(0, format).over};
    },
    facts: (f) => [
      `Scaled by ${powerOfTwo(f.shift)}, ${shareText(f.zero)} of the gradients become zero and ${shareText(f.over)} overflow.`,
      whichever(
        [[f.plain, '<', 1e-4], () => `${f.format.name} has the range of fp32: it needs no scale.`],
        [[f.best[1], '<', f.plain], () => `The best scale for these is ${powerOfTwo(f.best[0])}: ${shareText(f.best[1])} lost instead of ${percentOf(f.plain)} without.`]),
    ],
    height: () => 286, draw,
    tell: (f) => `A histogram of gradients over the range of ${f.format.name}: ${shareText(f.zero)} below it, ${shareText(f.over)} above.`,
    chart: (f) => ({title: 'Share lost', x: {title: 'scale, power of two'}, y: {text: percentOf}, drag: 'shift', here: [f.shift, f.lost], series: [{name: 'zero', fill: 'orange', points: Array.from({length: 41}, (_, i) => [i, lostAt(i, f.format).zero])}, {name: 'too large', fill: 'purple', points: Array.from({length: 41}, (_, i) => [i, lostAt(i, f.format).over])}]}),
    depth: ['The gradients are an example: sizes spread as a bell over powers of two, centred at 2⁻¹⁹. Dynamic loss scaling halves the scale after an overflow, skips that step, and doubles it after some thousands of clean ones (Micikevicius et al., 2018).'],
  });
}
