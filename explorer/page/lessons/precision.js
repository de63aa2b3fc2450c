// A value in each format: its bits, what remains of it, and how fast products of the format are.
{
  const formats = [
    {name: 'fp32', e: 8, m: 23, type: 'fp32'}, {name: 'tf32', e: 8, m: 10, type: 'tf32'}, {name: 'bf16', e: 8, m: 7, type: 'bf16'}, {name: 'fp16', e: 5, m: 10, type: 'fp16'},
    {name: 'fp8 e5m2', e: 5, m: 2, type: undefined}, {name: 'fp8 e4m3', e: 4, m: 3, most: 448, type: 'fp8'},
  ];
  // Rounds to nearest, ties to even, with subnormals.
  const encode = (value, {e, m, most}) => {
    const bias = 2 ** (e - 1) - 1;
    const lowest = 1 - bias;
    const exponent = Math.max(Math.floor(Math.log2(value)), lowest);
    const quantum = 2 ** (exponent - m);
    const ratio = value / quantum;
    const floor = Math.floor(ratio);
    const rest = ratio - floor;
    const units = rest > 0.5 || (rest === 0.5 && floor % 2) ? floor + 1 : floor;
    const rounded = units * quantum;
    const limit = most || (2 - 2 ** -m) * 2 ** bias;
    if (rounded > limit) return {rounded: Infinity, bits: '0' + '1'.repeat(e) + (most ? '1' : '0').repeat(m)};
    if (rounded === 0) return {rounded: 0, bits: '0'.repeat(1 + e + m)};
    const at = Math.max(Math.floor(Math.log2(rounded)), lowest);
    const whole = Math.round(rounded / 2 ** (at - m));
    const field = whole >= 2 ** m ? at + bias : 0;
    return {rounded, bits: '0' + field.toString(2).padStart(e, '0') + (whole % 2 ** m).toString(2).padStart(m, '0')};
  };

  const draw = (pen, f) => {
    const left = pen.narrow ? 62 : 80;
    const cell = Math.min(17, (pen.w - left - (pen.narrow ? 4 : 190)) / 32);
    pen.text(left, 14, 'sign', {size: 12, fill: 'purple'});
    pen.text(left + 36, 14, 'exponent', {size: 12, fill: 'orange'});
    pen.text(left + 98, 14, 'fraction', {size: 12, fill: 'blue'});
    f.rows.forEach((row, i) => {
      const y = 26 + i * (pen.narrow ? 54 : 44);
      pen.text(0, y + 15, row.name, {bold: true, size: 13, fit: left - 4});
      [...row.bits].forEach((bit, k) => {
        const fill = k === 0 ? ['purple', 'lilac'] : k <= row.e ? ['orange', 'sand'] : ['blue', 'sky'];
        pen.box(left + k * cell, y, cell - 1.5, 22, {fill: bit === '1' ? fill[0] : fill[1], round: 2});
      });
      const lost = row.rounded === 0 ? 'becomes 0' : row.rounded === Infinity ? 'too large' : `${numberText(row.rounded, 6)}, off by ${percentOf(row.error)}`;
      const bad = row.rounded === 0 || row.rounded === Infinity;
      if (pen.narrow) pen.text(left, y + 38, lost, {size: 12, fill: bad ? 'orange' : 'soft'});
      else pen.text(pen.w, y + 15, lost, {size: 13, align: 'right', fill: bad ? 'orange' : 'ink', bold: bad});
    });
  };

  lesson('precision', {
    title: 'Number formats',
    question: 'Products of 16-bit instead of 32-bit numbers: how much faster are they?',
    guess: {choices: ['2 times', '5 times', '8 times or more'], limits: [3.5, 7], value: (f) => f.gain, told: (value) => `${fold(value)} as fast for 4096³`},
    controls: [{slide: 'power', name: 'value: 1.2345 × 2 to the power of', low: -30, high: 20, start: -3}],
    study(state, model) {
      const power = clampTo(state.power, -30, 20);
      const value = 1.2345 * 2 ** power;
      const rows = formats.map((format) => {
        const {rounded, bits} = encode(value, format);
        return {...format, rounded, bits, error: Math.abs(rounded / value - 1)};
      });
      const square = (type) => `matmul m=4096 n=4096 k=4096 dtype=${type}${type === 'fp8' ? ' b_layout=column' : ''}`;
      const rate = (answer) => (answer ? answer.flop / answer.time_us / 1e6 : undefined);
      const [full, half] = [model.predict(square('fp32')), model.predict(square(model.half))];
      const bars = [['fp32', rate(full)], ['tf32', rate(model.maybe(square('tf32')))], [model.half, rate(half)], ['fp8', rate(model.maybe(square('fp8')))]].filter(([, each]) => each);
      const relu = (type) => model.time(`elementwise expr=relu(x) elements=268435456 dtype=${type}`);
      const lost = rows.filter((row) => row.rounded === 0 || row.rounded === Infinity).map((row) => row.name);
      return {power, value, rows, lost, gain: full && half ? full.time_us / half.time_us : NaN, full: full?.time_us, half: half?.time_us, name: model.half, bars, relu: relu('fp32') / relu(model.half)};
    },
    facts: (f) => [f.lost.length ? `${numberText(f.value, 5)} does not fit into ${f.lost.join(', ')}.` : `Every format holds ${numberText(f.value, 5)}, each with its own error.`],
    claims: (f) => [
      whichever(
        [[f.gain, '>', 1.05], () => `A product of 4096³ takes ${timeOf(f.half)} in ${f.name} instead of ${timeOf(f.full)} in fp32: ${fold(f.gain)} as fast, on tensor cores.`],
        [[f.gain, '>', 0], () => `A product of 4096³ takes ${timeOf(f.half)} in ${f.name} and ${timeOf(f.full)} in fp32.`]),
      whichever([[f.relu, '~', 2], () => `Where memory is the limit, half the bytes take half the time: ReLU gains ${numberText(f.relu, 3)} ×.`], [[f.relu, '>', 1.05], () => `ReLU, bound by memory, gains ${numberText(f.relu, 3)} ×.`]),
    ],
    height: (width) => (width < 520 ? 350 : 290), draw,
    tell: (f) => `The bits of ${numberText(f.value, 5)} in ${f.rows.length} formats, and what remains after rounding.`,
    chart: (f) => ({title: '4096³, TFLOP/s', bars: f.bars.map(([name, value]) => ({name, value, text: numberText(value, 3)}))}),
    effect: 'precision',
    depth: ['The exponent sets the range, the fraction the digits. bf16 has the range of fp32 and two to three decimal digits; fp16 has more digits and ends at 65504. e4m3 gives up infinity for a larger range, 448.'],
  });
}
