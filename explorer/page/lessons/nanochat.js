// nanochat's model: one number, the depth, sets everything; what it holds, computes and costs.
{
  const [vocabulary, length, rows] = [65536, 2048, 32];
  const modelAt = (depth) => {
    const width = depth * 64;
    const heads = Math.max(1, Math.ceil(width / 128));
    const blocks = depth * 12 * width ** 2;
    const tables = 2 * vocabulary * width;  // embedding and output are not shared
    const parameters = blocks + tables;
    const tokens = 20 * parameters;
    return {depth, width, heads, blocks, tables, parameters, tokens, flop: 6 * parameters * tokens};
  };

  const draw = (pen, f) => {
    const left = pen.narrow ? 0 : 10;
    const height = 250 / Math.max(12, f.depth + 2);
    const wide = 60 + Math.min(pen.w * 0.3, 240) * (f.width / 2048);
    let y = 24;
    pen.text(left, 14, `${f.depth} layers, ${f.width} wide, ${f.heads} heads`, {bold: true});
    pen.box(left, y, wide, height * 0.9, {fill: 'green', round: 2});
    if (height > 12) pen.text(left + wide + 8, y + height * 0.7, 'embedding', {size: 12, fill: 'soft'});
    y += height;
    for (let i = 0; i < f.depth; ++i) {
      pen.box(left, y, wide * 0.34, height * 0.86, {fill: 'orange', round: 2});
      pen.box(left + wide * 0.36, y, wide * 0.64, height * 0.86, {fill: 'blue', round: 2});
      if (i === 0 && height > 10) pen.text(left + wide + 8, y + height * 0.7, 'attention, MLP', {size: 12, fill: 'soft'});
      y += height;
    }
    pen.box(left, y, wide, height * 0.9, {fill: 'purple', round: 2});
    if (height > 12) pen.text(left + wide + 8, y + height * 0.7, 'output', {size: 12, fill: 'soft'});
    const x = left + wide + (pen.narrow ? 96 : 130);
    const room = pen.w - x;
    const bars = [['parameters', f.parameters, countOf(f.parameters), 'blue', 3e9], ['tokens, 20 each', f.tokens, countOf(f.tokens), 'green', 6e10], ['work, FLOP', f.flop, numberText(f.flop, 3), 'orange', 1.2e21]];
    bars.forEach(([name, value, text, fill, most], i) => {
      const by = 40 + i * 66;
      pen.text(x, by, name, {size: 13, fit: room});
      pen.text(x, by + 18, text, {size: 14, bold: true, fit: room});
      pen.box(x, by + 26, room, 12, {fill: 'quiet', round: 2});
      pen.box(x, by + 26, Math.max(1.5, room * Math.min(1, Math.cbrt(value / most))), 12, {fill, round: 2});
    });
  };

  lesson('nanochat', {
    title: 'nanochat: one number, a whole model',
    question: 'Twice the depth, and all else follows: how much more work is the training?',
    guess: {choices: ['4 times', 'about 8 times', '20 times and more'], limits: [6, 15], counted: true, value: () => modelAt(20).flop / modelAt(10).flop, told: (value) => `${fold(value)} the work from depth 10 to 20`},
    controls: [
      {slide: 'depth', name: 'depth', low: 4, high: 32, start: 20},
      {slide: 'gpus', name: 'GPUs', low: 1, high: 64, start: 8},
    ],
    counted: true,
    study(state, model) {
      const depth = clampTo(state.depth, 4, 32);
      const it = modelAt(depth);
      const {width, heads} = it;
      const tokens = rows * length;
      const product = (m, n, k) => model.time(`matmul m=${m} n=${n} k=${k} dtype=${model.half}`);
      const attention = (direction) => model.time(`attention batch=${rows} heads=${heads} seq=${length} head_dim=128 dtype=${model.half}${direction}`);
      const layer = 3 * (product(tokens, 3 * width, width) + product(tokens, width, width) + product(tokens, 4 * width, width) + product(tokens, width, 4 * width)) + 0.5 * (attention('') + attention(' direction=backward'));
      const step = depth * layer + 3 * product(tokens, vocabulary, width);
      const seconds = ((it.tokens / tokens) * step) / 1e6;
      return {...it, gpus: clampTo(state.gpus, 1, 64), step, seconds, hours: seconds / 3600, rate: (6 * it.parameters * tokens) / step * 1e6};
    },
    facts: (f) => [
      `Depth ${f.depth}: ${f.width} wide, ${countOf(f.parameters)} parameters, ${percentOf(f.tables / f.parameters)} of them embedding and output.`,
      `20 tokens for each parameter make ${countOf(f.tokens)} tokens and ${numberText(f.flop, 3)} FLOP.`,
    ],
    claims: (f) => [`Its products and attention alone take ${numberText(f.hours / f.gpus, 3)} hours on ${f.gpus} GPU${f.gpus > 1 ? 's' : ''}, if nothing else took time.`],
    height: () => 300, draw,
    tell: (f) => `A model of ${f.depth} layers, and bars for its parameters, tokens and work.`,
    chart: (f) => ({title: 'Work of training, FLOP', x: {title: 'depth'}, y: {log: true}, drag: 'depth', here: [f.depth, f.flop], series: [{points: Array.from({length: 29}, (_, i) => [4 + i, modelAt(4 + i).flop])}]}),
    depth: ['Karpathy\'s nanochat: width = 64 × depth, heads of 128, an MLP of 4 × the width, a vocabulary of 65,536, 20 tokens for each parameter. Depth 20, the "speedrun", has 561 million parameters and took about three hours of training on 8 H100.', 'Attention counts half for the mask. Optimizer, norms and communication are not in the sum; a config of your own goes into the view Model.'],
  });
}
