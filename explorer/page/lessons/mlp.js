// A training step of a multilayer perceptron, kernel by kernel: forward, gradients of inputs and weights, update.
{
  const partsOf = (model, {batch, width, layers}) => {
    const half = model.half;
    const product = (m, n, k, layout) => `matmul m=${m} n=${n} k=${k} dtype=${half}${layout}`;
    const pointwise = (expr, elements) => `elementwise expr=${expr} elements=${elements} dtype=${half} impl=fused`;
    return [
      ['forward', product(batch, width, width, ' b_layout=column'), 'blue'],
      ['ReLU', pointwise('relu(x)', batch * width), 'yellow'],
      ['ReLU back', pointwise('x*y', batch * width), 'yellow'],
      ['grad input', product(batch, width, width, ''), 'green'],
      ['grad weight', product(width, width, batch, ' a_layout=column'), 'purple'],
      ['update', pointwise('x+alpha*y', width * width), 'orange'],
    ].map(([name, operation, fill]) => ({name, fill, operation, each: model.time(operation), time: layers * model.time(operation)}));
  };
  const stepTime = (model, config) => partsOf(model, config).reduce((sum, part) => sum + part.time, 0);

  const draw = (pen, f, t) => {
    const shown = Math.min(f.layers, 12);
    const gap = pen.w / (shown + 1);
    const tall = 60 + 80 * Math.min(1, Math.log2(f.width / 256) / 6);
    const half = 4;
    const forward = phase(t, 0, half) * shown;
    const back = phase(t, half, 2 * half) * shown;
    pen.text(0, 16, `${f.layers} layers of ${f.width} × ${f.width}${f.layers > shown ? ` (${shown} drawn)` : ''}, ${f.batch} rows`, {size: 13, fit: pen.w});
    for (let i = 0; i <= shown; ++i) {
      const x = gap * (i + 0.5);
      const done = t < half ? forward >= i : true;
      const returned = t >= half && back >= shown - i;
      const rows = 6;
      for (let k = 0; k < rows; ++k) pen.dot(x, 34 + (tall * (k + 0.5)) / rows, Math.min(7, tall / rows / 2.4), {fill: returned ? 'green' : done ? 'blue' : 'quiet', stroke: 'line'});
      if (i < shown) for (let k = 0; k < rows; k += 1) for (let j = 0; j < rows; j += 2) pen.faded(0.5, () => pen.path([[x + 7, 34 + (tall * (k + 0.5)) / rows], [x + gap - 7, 34 + (tall * (j + 0.5)) / rows]], {stroke: t >= half && back >= shown - i - 1 ? 'green' : forward > i ? 'blue' : 'line', width: 0.8}));
    }
    // The step as one bar, each kind of kernel as long as it takes.
    const total = f.parts.reduce((sum, part) => sum + part.time, 0);
    let x = 0;
    const y = 210;
    const now = phase(t, 0, 2 * half) * pen.w;
    pen.text(0, y - 10, `a step: ${timeOf(total)}`, {bold: true});
    for (const part of f.parts) {
      const width = (pen.w * part.time) / total;
      pen.box(x, y, width - 1, 34, {fill: part.fill, round: 2});
      if (width > 60) pen.text(x + 6, y + 22, part.name, {size: 12, fill: 'paper', fit: width - 8});
      x += width;
    }
    pen.path([[now, y - 4], [now, y + 40]], {stroke: 'ink', width: 2});
    f.parts.forEach((part, i) => {
      const cx = (i % 3) * (pen.w / 3);
      const cy = y + 62 + Math.floor(i / 3) * 22;
      pen.box(cx, cy - 10, 12, 12, {fill: part.fill});
      pen.text(cx + 18, cy, `${part.name} ${timeOf(part.time)}`, {size: 12, fit: pen.w / 3 - 22});
    });
  };

  lesson('mlp', {
    title: 'A multilayer perceptron in training',
    question: 'A batch of 1024 instead of 16 rows, 64 times the work: how much longer does a step take?',
    timed: true,
    guess: {choices: ['hardly longer', 'some times longer', '64 times'], limits: [1.5, 40], value: (f) => f.ratio, told: (value) => `${fold(value)} as long, with 4 layers of 4096`},
    controls: [
      {slide: 'batch', name: 'rows (batch)', low: 8, high: 16384, start: 1024, doubling: true},
      {slide: 'width', name: 'width', low: 256, high: 16384, start: 4096, doubling: true},
      {slide: 'layers', name: 'layers', low: 1, high: 64, start: 4},
      {slide: 'steps', name: 'steps', low: 1, high: 100, start: 1},
    ],
    study(state, model) {
      const even = (value) => Math.max(8, Math.round(value / 8) * 8);
      const config = {batch: even(clampTo(state.batch, 8, 16384)), width: even(clampTo(state.width, 256, 16384)), layers: clampTo(state.layers, 1, 64)};
      const steps = clampTo(state.steps, 1, 100);
      const parts = partsOf(model, config);
      const step = parts.reduce((sum, part) => sum + part.time, 0);
      const usual = {width: 4096, layers: 4};
      const products = parts.filter((part) => part.operation.startsWith('matmul')).reduce((sum, part) => sum + part.time, 0);
      const flop = 6 * config.batch * config.width ** 2 * config.layers;
      return {...config, steps, parts, step, products: products / step, forward: parts[0].time, backward: parts[3].time + parts[4].time, rate: (flop / step) * 1e6, ratio: model.quietly(() => stepTime(model, {...usual, batch: 1024}) / stepTime(model, {...usual, batch: 16}))};
    },
    claims: (f) => [
      `${f.steps} step${f.steps > 1 ? 's take' : ' takes'} ${timeOf(f.step * f.steps)}, ${percentOf(f.products)} of it in products, at ${rateOf(f.rate, 'FLOP/s')}.`,
      whichever(
        [[f.backward, '~', 2 * f.forward], () => `The two backward products take ${timeOf(f.backward)}, twice the forward one's ${timeOf(f.forward)}.`],
        [[f.backward, '>', 1.05 * f.forward], () => `The two backward products take ${timeOf(f.backward)}, ${fold(f.backward / f.forward)} as long as the forward one.`]),
    ],
    height: () => 310, seconds: 8.5, poster: 5.5, draw,
    tell: (f) => `A network of ${f.layers} layers, forward and backward, and the kernels of a step as lengths of a bar.`,
    chart: (f, model) => {
      const sizes = [8, 32, 128, 512, 2048, 8192];
      const measured = f.width === 4096 && f.layers === 4 && model.half === 'bf16' ? model.measured('mlp', 'batch').map(([x, y]) => [x, y * 1000]) : [];
      return {title: 'A step', x: {title: 'rows', log: true, ticks: sizes.map((n) => [n, String(n)])}, y: {title: 'ms', log: true}, drag: 'batch', here: [f.batch, f.step / 1000], series: [{name: 'predicted', points: sizes.map((batch) => [batch, model.quietly(() => stepTime(model, {...f, batch})) / 1000])}, ...(measured.length ? [{name: 'measured', fill: 'ink', dots: 4, points: measured}] : [])]};
    },
    effect: 'mlp',
    depth: ['Forward X Wᵀ, gradient of the input G W, gradient of the weight Gᵀ X: three products, 6 b w² FLOP a layer. With few rows they do little work for the weights that they read, and the update costs the same for any batch.', 'The name of a kernel says most about it. nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT: a tile of 256 × 128, steps of 64 along k, 4 stages in flight, clusters of 1 × 2 blocks. cutlass_80_simt_sgemm_256x128_8x4_nn_align1: no tensor cores, fp32, loads of one element.'],
  });
}
