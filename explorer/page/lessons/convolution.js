// ResNet-50 as matrix products: the FLOP of each of its 53 convolutions, and the time of the products they become.
{
  // [name, output edge as a share of the image, kernel, channels in, channels out, how many]
  const layers = (() => {
    const out = [['7 × 7', 1 / 2, 7, 3, 64, 1]];
    [[64, 3, 4], [128, 4, 8], [256, 6, 16], [512, 3, 32]].forEach(([width, blocks, by], stage) => {
      const before = stage ? width * 2 : 64;
      for (let i = 0; i < blocks; ++i) {
        const inputs = i ? width * 4 : before;
        // The first block of a later stage halves the image in its 3 × 3 convolution.
        const first = i || !stage ? by : by / 2;
        out.push(['1 × 1', 1 / first, 1, inputs, width, 1], ['3 × 3', 1 / by, 3, width, width, 1], ['1 × 1', 1 / by, 1, width, width * 4, 1]);
        if (!i) out.push(['1 × 1', 1 / by, 1, inputs, width * 4, 1]);
      }
    });
    return out;
  })();
  const workOf = (size) => layers.map(([name, share, kernel, from, to]) => {
    const edge = Math.round(size * share);
    return {name, edge, kernel, from, to, flop: 2 * edge * edge * kernel * kernel * from * to};
  });
  const total = (size) => workOf(size).reduce((sum, layer) => sum + layer.flop, 0) + 2 * 2048 * 1000;

  const draw = (pen, f, t) => {
    const width = pen.w / f.work.length;
    const most = Math.max(...f.work.map((layer) => layer.flop));
    const now = Math.min(f.work.length - 1, Math.floor((t / 8) * f.work.length));
    const floor = 200;
    const fills = {1: 'blue', 3: 'orange', 7: 'purple'};
    f.work.forEach((layer, i) => {
      const height = (150 * layer.flop) / most;
      pen.box(i * width + 0.5, floor - height, width - 1.5, height, {fill: fills[layer.kernel]});
      if (i === now) pen.box(i * width - 1, floor + 3, width + 1, 5, {fill: 'ink'});
    });
    pen.text(0, 16, 'FLOP of each convolution', {size: 13, bold: true});
    [['1 × 1', 'blue'], ['3 × 3', 'orange'], ['7 × 7', 'purple']].forEach(([name, fill], i) => {
      pen.box(pen.w - 190 + i * 64, 6, 12, 12, {fill});
      pen.text(pen.w - 174 + i * 64, 16, name, {size: 12});
    });
    const layer = f.work[now];
    // The convolution as a product: pixels by taps, times taps by channels.
    const [m, k, n] = [layer.edge ** 2 * f.batch, layer.kernel ** 2 * layer.from, layer.to];
    const sizeOf = (value) => 12 + 12 * Math.log2(value) / 2;
    const [pm, pk, pn] = [m, k, n].map((value) => Math.min(90, sizeOf(value)));
    const y = 228;
    pen.box(0, y, pk, pm * 0.8, {fill: 'sky', stroke: 'blue'});
    pen.text(pk + 8, y + 34, '×', {size: 16});
    pen.box(pk + 26, y, pn, pk * 0.8, {fill: 'sand', stroke: 'orange'});
    pen.text(pk + pn + 34, y + 34, '=', {size: 16});
    pen.box(pk + pn + 52, y, pn, pm * 0.8, {fill: 'mint', stroke: 'green'});
    const [tx, ty] = pen.narrow ? [0, y + 86] : [pk + 2 * pn + 66, y];
    pen.text(tx, ty + 16, `${layer.name}, ${layer.from} → ${layer.to} channels, ${layer.edge}² pixels`, {size: 13, bold: true, fit: pen.w - tx});
    pen.text(tx, ty + 36, `${countOf(m)} × ${k} × ${n}`, {size: 13, fit: pen.w - tx});
    pen.text(tx, ty + 56, `${rateOf(layer.flop, 'FLOP')} for an image`, {size: 13, fit: pen.w - tx});
  };

  lesson('convolution', {
    title: 'FLOP of ResNet-50',
    question: 'Papers give ResNet-50 as 3.8 billion. FLOP of what?',
    guess: {choices: ['of one image forward', 'half of one image forward', 'of a training step'], limits: [1.3, 4], counted: true, value: (f) => f.paper, told: (value) => `they count a multiply-add as one: one image forward has ${fold(value)} that in FLOP`},
    controls: [
      {slide: 'size', name: 'edge of the image', low: 64, high: 448, start: 224},
      {slide: 'batch', name: 'images', low: 1, high: 256, start: 32, doubling: true},
    ],
    study(state, model) {
      const size = Math.round(clampTo(state.size, 64, 448) / 32) * 32;
      const batch = clampTo(state.batch, 1, 256);
      const work = workOf(size);
      const flop = total(size);
      const shapes = new Map();
      for (const layer of work) {
        const key = `matmul m=${layer.edge ** 2 * batch} n=${layer.to} k=${layer.kernel ** 2 * layer.from} dtype=${model.half}`;
        shapes.set(key, (shapes.get(key) || 0) + 1);
      }
      let time = 0;
      for (const [shape, count] of shapes) time += count * model.time(shape);
      const peak = model.chip.peaks?.[model.half]?.tensor_flop_per_s || model.chip.peaks?.[model.half]?.vector_flop_per_s;
      return {size, batch, work, flop, time, paper: total(224) / 3.8e9, rate: (flop * batch) / time * 1e6, share: (flop * batch) / time * 1e6 / peak, three: work.filter((layer) => layer.kernel === 3).reduce((sum, layer) => sum + layer.flop, 0) / flop};
    },
    facts: (f) => [`An image of ${f.size} × ${f.size} takes ${rateOf(f.flop, 'FLOP')} forward, ${percentOf(f.three)} of it in 3 × 3 convolutions; a training step about three times that.`],
    claims: (f) => [`As products ${f.batch} image${f.batch > 1 ? 's take' : ' takes'} ${timeOf(f.time)} here: ${rateOf(f.rate, 'FLOP/s')}, ${percentOf(f.share)} of the peak.`],
    height: (width) => (width < 520 ? 376 : 320), seconds: 8, poster: 2.6, draw,
    tell: (f) => `A bar for the FLOP of each of ${f.work.length} convolutions, and one of them as a matrix product.`,
    chart: (f) => ({title: 'One image forward, GFLOP', x: {title: 'edge of the image'}, y: {}, drag: 'size', here: [f.size, f.flop / 1e9], limits: [['3.8 (multiply-adds at 224)', 3.8]], series: [{points: Array.from({length: 13}, (_, i) => 64 + 32 * i).map((size) => [size, total(size) / 1e9])}]}),
    depth: ['A convolution of k × k taps from a to b channels on h × w pixels is a product of (h w) × (k² a) × b: 2 h w k² a b FLOP. He et al. give 3.8 × 10⁹ multiply-adds. The first block of a stage halves the image in its 3 × 3 convolution, as PyTorch does, which makes 4.1 × 10⁹.', 'ridge times the products alone; gathering the taps, normalisation and ReLU are not in the sum.'],
  });
}
