// Copies of 16 bytes need rows that begin at multiples of 16 bytes.
{
  const inMemory = (n) => kindOf(2 * n);
  const kindOf = (bytes) => [16, 8, 4, 2].find((each) => bytes % each === 0);
  const productAt = (model, n) => `matmul m=2048 n=${n} k=${n} dtype=${model.half}`;
  const colours = {16: 'blue', 8: 'green', 4: 'yellow', 2: 'orange'};

  const draw = (pen, f, t) => {
    const units = 12;  // of 16 bytes, shown from each row
    const unit = (pen.w - 60) / units;
    const rows = 8;
    const now = Math.floor(t * 8);
    pen.text(60, 14, 'memory, in pieces of 16 bytes', {size: 13});
    for (let row = 0; row < rows; ++row) {
      const y = 26 + row * 34;
      const start = (row * f.n * 2) % 16;
      pen.text(0, y + 17, `row ${row}`, {size: 12, fill: 'soft'});
      for (let i = 0; i < units; ++i) pen.box(60 + i * unit, y, unit - 2, 24, {fill: 'quiet', stroke: 'line'});
      // The row's bytes, cut into the loads that its alignment allows.
      const load = f.align;
      const perUnit = 16 / load;
      let drawn = 0;
      for (let byte = start; byte < (units - 1) * 16 + start && drawn < 96; byte += load, ++drawn) {
        const x = 60 + (byte / 16) * unit;
        const past = drawn < (now - row * 6) * 1;
        pen.box(x + 1, y + 4, Math.max(2, (load / 16) * unit - 3), 16, {fill: past ? colours[f.align] : 'paper', stroke: colours[f.align], round: 2});
      }
      if (perUnit > 1 && start && row === 1) pen.path([[60 + (start / 16) * unit, y - 4], [60 + (start / 16) * unit, y + 28]], {stroke: 'ink', width: 2});
    }
    pen.text(60, 318, `each load: ${f.align} bytes, so ${16 / f.align} for every 16 bytes`, {bold: true});
  };

  lesson('alignment', {
    title: 'Aligned rows',
    question: 'GPT-2 has 50257 words. Why does everyone pad them to 50304, and what does the last layer gain?',
    guess: {choices: ['nothing', 'up to 2 times', '2 times and more'], limits: [1.05, 2], value: (f) => f.gpt2, told: (value) => `the padded product is ${fold(value)} as fast`},
    controls: [{slide: 'n', name: 'numbers in a row', low: 2040, high: 2056, start: 2049}],
    study(state, model) {
      const n = clampTo(state.n, 2040, 2056);
      const now = model.predict(productAt(model, n));
      const [odd, padded] = [50257, 50304].map((words) => model.time(`matmul m=8192 n=${words} k=768 dtype=${model.half}`));
      const aligned = model.time(productAt(model, 2048));
      return {n, align: inMemory(n), time: now?.time_us, aligned, slower: now?.time_us / aligned, rate: now && (now.flop / now.time_us) * 1e6, odd, padded, gpt2: odd / padded};
    },
    facts: (f) => [`Rows of ${f.n} numbers of 2 bytes begin at multiples of ${f.align} bytes, so a load takes at most ${f.align}.`],
    claims: (f) => [
      whichever(
        [[f.align, '=', 16], () => `The product of 2048 rows takes ${timeOf(f.time)}.`],
        [[f.slower, '~', 1], () => `The product takes ${timeOf(f.time)}, about as long as with 2048 (${timeOf(f.aligned)}).`],
        [[f.slower, '>', 1.05], () => `The product takes ${timeOf(f.time)}, ${fold(f.slower)} as long as with 2048.`]),
      whichever(
        [[f.gpt2, '~', 1], () => `GPT-2's last layer takes ${timeOf(f.odd)} with 50257 words and ${timeOf(f.padded)} with 50304: about the same.`],
        [[f.gpt2, '>', 1.05], () => `GPT-2's last layer takes ${timeOf(f.odd)} with 50257 words; with 50304, more work, ${timeOf(f.padded)}.`]),
    ],
    height: () => 330, seconds: 9, poster: 5, draw,
    tell: (f) => `Eight rows of a matrix in memory, in pieces of 16 bytes; rows of ${f.n} numbers allow loads of ${f.align} bytes.`,
    chart: (f, model) => ({
      title: '2048 × n × n, TFLOP/s', x: {title: 'n', ticks: [2040, 2044, 2048, 2052, 2056].map((n) => [n, String(n)])}, y: {}, drag: 'n', here: [f.n, f.rate / 1e12],
      series: [{fill: 'line', points: Array.from({length: 17}, (_, i) => [2040 + i, rateOfProduct(model, 2040 + i)])}, ...[16, 8, 4, 2].map((bytes) => ({name: `${bytes}-byte loads`, fill: colours[bytes], dots: 4.5, points: Array.from({length: 17}, (_, i) => 2040 + i).filter((n) => inMemory(n) === bytes).map((n) => [n, rateOfProduct(model, n)])}))],
    }),
    effect: 'alignment',
    depth: ['Only the dimension that is contiguous in memory matters: an odd number of rows costs nothing.', 'The author of that change reported 25 % for a whole training step of nanoGPT, and 4 % in a later program; the gain depends on the share of this one product.'],
  });
  const rateOfProduct = (model, n) => {
    const answer = model.maybe(productAt(model, n));
    return answer ? answer.flop / answer.time_us / 1e6 : NaN;
  };
}
