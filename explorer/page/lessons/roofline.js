// A warehouse (memory), a belt (its bandwidth) and a factory (the arithmetic units): the slower of the two sets the pace.
{
  const [n, k] = [8192, 8192];

  const draw = (pen, f, t) => {
    const w = pen.w;
    const y = 150;
    const house = Math.min(150, w * 0.24);
    // warehouse
    pen.path([[0, 70], [house / 2, 34], [house, 70]], {fill: 'sky', close: true});
    pen.box(0, 70, house, 130, {fill: 'sky'});
    for (let i = 0; i < 20; ++i) pen.box(10 + (i % 5) * ((house - 20) / 5), 92 + Math.floor(i / 5) * 26, (house - 20) / 5 - 4, 20, {fill: 'blue', round: 2});
    pen.text(house / 2, 222, pen.narrow ? 'memory' : 'warehouse: memory', {align: 'center', size: 13});
    // factory
    const fx = w - house * 1.25;
    const fw = house * 1.25;
    pen.path([[fx, 84], [fx + fw * 0.33, 50], [fx + fw * 0.33, 84], [fx + fw * 0.66, 50], [fx + fw * 0.66, 84], [fx + fw, 50], [fx + fw, 84]], {fill: 'sand', close: true});
    pen.box(fx, 84, fw, 116, {fill: 'sand'});
    const machines = 12;
    for (let i = 0; i < machines; ++i) {
      const [mx, my] = [fx + fw * (0.14 + 0.24 * (i % 4)), 108 + Math.floor(i / 4) * 32];
      const busy = i < f.factory * machines;
      const turn = busy ? t * 6 + i : 0;
      for (let tooth = 0; tooth < 6; ++tooth) pen.dot(mx + 9 * Math.cos(turn + tooth * 1.047), my + 9 * Math.sin(turn + tooth * 1.047), 3, {fill: busy ? 'orange' : 'line'});
      pen.dot(mx, my, 8, {fill: busy ? 'orange' : 'line'});
      pen.dot(mx, my, 3, {fill: 'sand'});
    }
    pen.text(fx + fw / 2, 222, pen.narrow ? 'arithmetic' : 'factory: arithmetic', {align: 'center', size: 13});
    // belt: boxes as dense as the belt is used
    const [from, to] = [house + 8, fx - 8];
    pen.box(from, y + 14, to - from, 8, {fill: 'soft', round: 4});
    const gap = 26 / Math.max(0.06, f.belt);
    for (let x = from + ((t * 46) % gap); x < to - 16; x += gap) pen.box(x, y - 4, 16, 16, {fill: 'blue', round: 2});
    pen.text((from + to) / 2, y + 42, pen.narrow ? 'bandwidth' : 'belt: bandwidth', {align: 'center', size: 13});
    // shares
    const meters = [['belt in use', f.belt, 'blue'], ['factory in use', f.factory, 'orange']];
    meters.forEach(([name, share, fill], i) => {
      const my = 252 + i * 34;
      pen.text(0, my + 12, name, {size: 13});
      pen.box(120, my, w - 190, 16, {fill: 'quiet', round: 3});
      pen.box(120, my, (w - 190) * Math.min(1, share), 16, {fill, round: 3});
      pen.text(w, my + 13, percentOf(share), {align: 'right', bold: true});
    });
  };

  lesson('roofline', {
    title: 'Warehouse and factory: the roofline',
    question: 'One row times a matrix of 8192 × 8192: is the factory busy, or the belt that feeds it?',
    timed: true,
    guess: {choices: ['the factory', 'both', 'the belt'], limits: [0.8, 1.25], value: (f) => f.belt / f.factory, told: (value) => (value > 1.25 ? 'the belt: arithmetic waits for memory' : value < 0.8 ? 'the factory' : 'both')},
    controls: [
      {slide: 'rows', name: 'rows', low: 1, high: 16384, start: 1, doubling: true},
      {choose: 'type', name: 'Type', of: [['half', '16 bits'], ['fp8', 'fp8'], ['fp32', 'fp32']], start: 'half'},
    ],
    study(state, model) {
      const rows = clampTo(state.rows, 1, 16384);
      const now = model.predict(`matmul m=${rows} n=${n} k=${k} dtype=${state.type === 'half' ? model.half : state.type}${state.type === 'fp8' ? ' b_layout=column' : ''}`);
      if (!now) return {rows, belt: NaN, factory: NaN};
      const belt = now.dram_bytes / now.bandwidth_bytes_per_s / (now.time_us * 1e-6);
      const factory = now.flop / now.peak_flop_per_s / (now.time_us * 1e-6);
      return {rows, type: state.type, belt: Math.min(1, belt), factory: Math.min(1, factory), intensity: now.flop / now.dram_bytes, ridge: now.peak_flop_per_s / now.bandwidth_bytes_per_s, rate: (now.flop / now.time_us) * 1e6, peak: now.peak_flop_per_s, bandwidth: now.bandwidth_bytes_per_s, time: now.time_us};
    },
    claims: (f) => [
      `${f.rows} row${f.rows > 1 ? 's' : ''}: ${numberText(f.intensity, 3)} FLOP for each byte from memory; this chip needs ${numberText(f.ridge, 3)} to be busy.`,
      whichever(
        [[f.belt, '>', 1.25 * f.factory], [f.belt, '>', 0.5], () => `The belt is the limit: ${percentOf(f.belt)} of the bandwidth, ${percentOf(f.factory)} of the arithmetic, ${timeOf(f.time)}.`],
        [[f.factory, '>', 1.25 * f.belt], [f.factory, '>', 0.5], () => `The factory is the limit: ${percentOf(f.factory)} of the arithmetic, ${percentOf(f.belt)} of the bandwidth, ${timeOf(f.time)}.`],
        [[Math.max(f.belt, f.factory), '<=', 0.5], () => `Neither is half busy (belt ${percentOf(f.belt)}, factory ${percentOf(f.factory)}): starts and waits take the rest of ${timeOf(f.time)}.`],
        [[f.belt, '>', 0], () => `Belt and factory are used alike: ${percentOf(f.belt)} and ${percentOf(f.factory)}, ${timeOf(f.time)}.`]),
    ],
    height: () => 322, seconds: 60, draw,
    tell: (f) => `A warehouse, a belt and a factory: the belt is ${percentOf(f.belt)} used, the factory ${percentOf(f.factory)}.`,
    chart: (f) => {
      if (!f.peak) return undefined;
      const low = Math.min(0.5, f.intensity);
      const high = Math.max(4096, f.intensity);
      return {
        title: 'The roofline', x: {title: 'FLOP per byte', log: true}, y: {title: 'TFLOP/s', log: true}, here: [f.intensity, f.rate / 1e12],
        series: [{name: 'belt', fill: 'blue', points: [[low, (low * f.bandwidth) / 1e12], [f.ridge, f.peak / 1e12]]}, {name: 'factory', fill: 'orange', points: [[f.ridge, f.peak / 1e12], [high, f.peak / 1e12]]}],
      };
    },
    effect: 'roofline',
    depth: ['A product of m rows does 2 m n k FLOP on m k + k n + m n numbers. With few rows nearly all bytes are the weights, read once for each row of the batch: that is decoding.', 'The roof is the smaller of peak and intensity × bandwidth; the ridge point is where they meet.'],
  });
}
