// The speed of square products at neighbouring sizes, coloured by how far their rows are aligned.
{
  const kinds = [[16, 'multiple of 8', 'blue'], [8, 'of 4', 'green'], [4, 'of 2', 'yellow'], [2, 'odd', 'orange']];
  const [low, high] = [1024, 2304];
  const alignmentOf = (n) => kinds.find(([bytes]) => (2 * n) % bytes === 0)[0];
  const sizes = [];
  for (let n = low; n <= high; n += 64) for (const more of [0, 1, 2, 4, 8, 32]) if (n + more <= high) sizes.push(n + more);
  const productAt = (model, n) => `matmul m=${n} n=${n} k=${n} dtype=${model.half}`;
  const rateAt = (model, n) => {
    const answer = model.maybe(productAt(model, n));
    return answer ? (answer.flop / answer.time_us) * 1e6 : NaN;
  };

  lesson('matmul-mystery', {
    title: 'The sawtooth of products',
    question: 'A product of 2049 has hardly more to do than one of 2048. Does it run at the same speed?',
    timed: true,
    guess: {choices: ['yes, within 5 %', 'somewhat slower', 'less than half as fast'], limits: [1.05, 2], value: (f) => f.cliff, told: (value) => `2048 is ${fold(value)} as fast as 2049`},
    controls: [{slide: 'n', name: 'm = n = k', low, high, start: 1793}],
    study(state, model) {
      const n = clampTo(state.n, low, high);
      const now = model.predict(productAt(model, n));
      const padded = Math.ceil(n / 64) * 64;
      const better = model.predict(productAt(model, padded));
      const rate = (answer) => (answer ? (answer.flop / answer.time_us) * 1e6 : NaN);
      return {n, padded, align: alignmentOf(n), rate: rate(now), better: rate(better), time: now?.time_us, timeBetter: better?.time_us, tiles: now?.tiling?.tiles, waves: now?.tiling?.waves, tile: now?.tiling, cliff: rateAt(model, 2048) / rateAt(model, 2049), points: sizes.map((size) => [size, rateAt(model, size)])};
    },
    facts: (f) => [`Rows of ${f.n} numbers of 2 bytes begin at multiples of ${f.align} bytes.`],
    claims: (f) => [
      `It makes ${f.tiles} tiles of ${f.tile.m} × ${f.tile.n} in ${f.waves} wave${f.waves > 1 ? 's' : ''}: ${rateOf(f.rate, 'FLOP/s')}.`,
      f.padded === f.n ? undefined : whichever(
        [[f.time, '>', 1.05 * f.timeBetter], () => `Padded to ${f.padded} it does more work in less time: ${timeOf(f.timeBetter)} instead of ${timeOf(f.time)}.`],
        [[f.time, '~', f.timeBetter], () => `Padded to ${f.padded} it takes ${timeOf(f.timeBetter)}, about the same as ${timeOf(f.time)}.`],
        [[f.time, '<', f.timeBetter], () => `Padding to ${f.padded} does not pay: ${timeOf(f.timeBetter)} instead of ${timeOf(f.time)}.`]),
    ],
    height: (width) => Math.max(300, Math.min(400, width * 0.5)),
    draw(pen, f) {
      const chart = {title: 'Products of 16-bit numbers, TFLOP/s', x: {title: 'm = n = k'}, y: {}, series: kinds.map(([bytes, name, fill]) => ({name, fill, dots: 3.5, points: f.points.filter(([n]) => alignmentOf(n) === bytes).map(([n, rate]) => [n, rate / 1e12])})), here: [f.n, f.rate / 1e12]};
      // A thin line through the sizes in order shows the teeth.
      drawLines(pen, {...chart, series: [{fill: 'line', points: f.points.map(([n, rate]) => [n, rate / 1e12])}, ...chart.series]});
    },
    tell: () => 'Speed of square products against their size, a sawtooth whose colours are the alignment of the rows.',
    chart: (f) => ({title: 'This size, and padded', bars: [
      {name: `${f.n}`, value: f.time || 0, text: f.time ? timeOf(f.time) : 'not modelled', lit: true},
      {name: `${f.padded}, the next multiple of 64`, value: f.timeBetter || 0, text: f.timeBetter ? timeOf(f.timeBetter) : 'not modelled'}]}),
    effect: 'matmul-mystery',
    depth: ['Three causes at once: rows that do not begin at multiples of 16 bytes need kernels with narrow loads; tiles at the edge compute rows that do not exist; the last wave of tiles is rarely full.', 'On the command line `ridge sweep matmul --m 1024..2304 --tile 256x128` draws the teeth of one fixed tile.'],
    commands: (state) => [['predict', 'matmul', '--m', state.n, '--n', state.n, '--k', state.n, '--dtype', 'fp16', '--gpu', state.gpu]],
  });
}
