// What attention holds in memory: the tensors grow with the length, the scores with its square.
{
  const heads = 32;
  const dim = 128;
  const bytesAt = (n) => ({tensors: 4 * heads * n * dim * 2, scores: heads * n * n * 2, statistics: heads * n * 4});

  const draw = (pen, f) => {
    const side = Math.min(pen.narrow ? 150 : 240, pen.w * 0.36);
    // The scores of one head as a square whose side follows the length, beside the tensors as thin strips.
    const share = Math.sqrt(f.n / 131072);
    const edge = Math.max(2, side * share);
    const [x, y] = [30, 40];
    pen.text(x, 22, 'scores of a head: n × n', {size: 13});
    pen.box(x, y, side, side, {stroke: 'line', dash: [3, 3]});
    pen.box(x, y, edge, edge, {fill: 'orange'});
    pen.box(x - 14, y, 8, edge, {fill: 'blue'});
    pen.box(x, y + side + 8, edge, 8, {fill: 'blue'});
    pen.text(x, y + side + 36, 'Q and K: n × 128', {size: 12, fill: 'blue'});
    // The memory of the chip, filled by both ways.
    const mx = x + side + (pen.narrow ? 20 : 60);
    const width = pen.w - mx;
    const scale = f.capacity * 1.0;
    [['scores stored', f.tensors + f.scores, 'orange'], ['FlashAttention', f.tensors + f.statistics, 'blue']].forEach(([name, bytes, fill], i) => {
      const by = 40 + i * 118;
      const over = bytes > f.capacity;
      pen.text(mx, by, name, {bold: true, size: 13});
      pen.text(mx, by + 18, `${bytesOf(bytes)}${over ? ', too much' : ''}`, {size: 13, fill: over ? 'orange' : 'ink'});
      pen.box(mx, by + 26, width, 40, {fill: 'quiet', stroke: 'line'});
      pen.box(mx, by + 26, Math.max(1.5, width * Math.min(1, bytes / scale)), 40, {fill});
      if (over) for (let k = 0; k < 6; ++k) pen.path([[mx + width - 8 - k * 9, by + 66], [mx + width - k * 9, by + 26]], {stroke: 'paper', width: 2});
    });
    pen.text(mx, 280, `the bar is the whole memory: ${bytesOf(f.capacity)}`, {size: 12, fill: 'soft', fit: width});
  };

  lesson('attention-vram', {
    title: 'Memory of attention',
    question: '32 heads, 32,768 tokens: how much memory do the scores of one layer take?',
    guess: {choices: ['about 2 GiB', 'about 64 GiB', 'a terabyte'], limits: [8 * 2 ** 30, 300 * 2 ** 30], counted: true, value: (f) => bytesAt(32768).scores, told: (value) => bytesOf(value)},
    controls: [{slide: 'n', name: 'tokens', low: 512, high: 131072, start: 8192, doubling: true}],
    counted: true,
    study(state, model) {
      const n = clampTo(state.n, 512, 131072);
      const level = (model.chip.memory || []).slice(-1)[0];
      const capacity = level?.bytes || 16 * 2 ** 30;
      const bytes = bytesAt(n);
      const longest = (way) => {
        let [low, high] = [1, 2 ** 30];
        while (high - low > 1) {
          const middle = Math.floor((low + high) / 2);
          const each = bytesAt(middle);
          if (each.tensors + each[way] <= capacity) low = middle;
          else high = middle;
        }
        return low;
      };
      return {n, capacity, ...bytes, longestStored: longest('scores'), longestFlash: longest('statistics'), title: model.title};
    },
    facts: (f) => [
      `${f.n} tokens: ${bytesOf(f.tensors)} of Q, K, V and O, and ${bytesOf(f.scores)} of scores in 16 bits.`,
      whichever([[f.longestFlash, '>', 1.05 * f.longestStored], () => `In ${bytesOf(f.capacity)} fit ${numberText(f.longestStored, 3)} tokens with the scores of all heads, ${numberText(f.longestFlash, 3)} without: ${fold(f.longestFlash / f.longestStored)} as many.`]),
    ],
    height: () => 300, draw,
    tell: (f) => `The scores as a square of ${f.n} by ${f.n} and the memory of the chip: ${bytesOf(f.tensors + f.scores)} stored, ${bytesOf(f.tensors + f.statistics)} by FlashAttention.`,
    chart: (f) => {
      const sizes = Array.from({length: 9}, (_, i) => 512 * 2 ** i);
      const line = (name, fill, way) => ({name, fill, points: sizes.map((n) => [n, (bytesAt(n).tensors + bytesAt(n)[way]) / 2 ** 30])});
      return {title: 'Memory, GiB', x: {title: 'tokens', log: true, ticks: [[512, '512'], [4096, '4 Ki'], [32768, '32 Ki'], [131072, '128 Ki']]}, y: {log: true}, drag: 'n', here: [f.n, (f.tensors + f.scores) / 2 ** 30], limits: [['memory of the chip', f.capacity / 2 ** 30]], series: [line('scores stored', 'orange', 'scores'), line('FlashAttention', 'blue', 'statistics')]};
    },
    effect: 'attention-vram',
    depth: ['Scores: heads × n² × 2 bytes. A notebook that counts n² × 2 bytes counts one head. FlashAttention keeps 4 bytes for each row and head, the log of its sum.', 'PyTorch also rounds every tensor up and keeps a workspace: `ridge vram attention` counts that; training keeps gradients too.'],
    commands: (state) => [['vram', 'attention', '--heads', '32', '--seq', state.n, '--head-dim', '128', '--dtype', 'fp16', '--impl', 'torch-math', '--gpu', state.gpu]],
  });
}
