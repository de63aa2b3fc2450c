// Forward and backward through a chain: activations are kept on a tape, or computed again.
{
  const nested = (n) => Array.from({length: n}).reduce((inner) => `sigmoid(${inner})`, 'x');
  const elements = 67108864;
  const op = (expr, impl) => `elementwise expr=${expr} elements=${elements} dtype=fp32 impl=${impl}`;
  const gradientOf = (parts) => ['g', ...parts.map((part) => `(${part}*(1-${part}))`)].join('*');
  const range = (n) => Array.from({length: n}, (_, i) => i + 1);

  const draw = (pen, f, t) => {
    const {n, again} = f;
    const step = (pen.w - 60) / (n + 1);
    const at = (i) => 30 + i * step;
    const half = 4;
    const forward = Math.min(n, Math.floor(phase(t, 0, half) * (n + 1)));
    const backward = Math.floor(phase(t, half, 2 * half) * (n + 1));
    const second = again ? Math.floor(phase(t, half, half + 1.6) * (n + 1)) : 0;
    const [top, tape, low] = [56, 150, 236];
    pen.text(0, 16, 'forward', {size: 13, bold: true});
    pen.text(0, low + 46, 'backward', {size: 13, bold: true});
    pen.box(0, tape - 22, pen.w, 44, {fill: 'sand', round: 4});
    pen.text(0, tape - 28, 'memory: the tape', {size: 12, fill: 'soft'});
    for (let i = 0; i <= n; ++i) {
      const x = at(i);
      const kept = i === 0 || i === n || !again;
      const done = t < half ? forward >= i : true;
      if (i > 0) pen.arrow(at(i - 1) + 17, top, x - 17, top, {stroke: done ? 'blue' : 'line', width: 2});
      pen.dot(x, top, 16, {fill: done ? 'blue' : 'quiet', stroke: 'blue'});
      pen.text(x, top + 5, i === 0 ? 'x' : `s${i}`, {align: 'center', size: 12, fill: done ? 'paper' : 'soft', bold: true});
      if (kept && done) {
        if (i > 0) pen.arrow(x, top + 17, x, tape - 22, {stroke: 'orange', width: 2});
        pen.box(x - 14, tape - 14, 28, 28, {fill: 'orange', round: 3});
        pen.text(x, tape + 5, i === 0 ? 'x' : `s${i}`, {align: 'center', size: 12, fill: 'paper', bold: true});
      } else if (!kept) {
        pen.box(x - 14, tape - 14, 28, 28, {stroke: 'line', dash: [3, 3], round: 3});
        if (t > half && second >= i) pen.dot(x, low - 40, 8, {fill: 'sky', stroke: 'blue'});
      }
      const reached = t > half && backward >= n - i;
      pen.dot(x, low, 16, {fill: reached ? 'green' : 'quiet', stroke: 'green'});
      pen.text(x, low + 5, i === 0 ? 'dx' : i === n ? 'g' : `d${i}`, {align: 'center', size: 12, fill: reached ? 'paper' : 'soft', bold: true});
      if (i < n) pen.arrow(at(i + 1) - 17, low, x + 17, low, {stroke: reached ? 'green' : 'line', width: 2});
      if (reached && i > 0 && !again) pen.arrow(x, tape + 22, x, low - 17, {stroke: 'orange', width: 2});
      if (reached && again && i === 0) pen.arrow(x, tape + 22, x, low - 17, {stroke: 'orange', width: 2});
    }
    if (again) pen.text(at(1) - 10, low - 60, 'computed again', {size: 12, fill: 'blue'});
    pen.text(pen.w, 16, `${f.accesses} tensors read or written`, {align: 'right', bold: true});
  };

  lesson('recomputation', {
    title: 'Recomputation',
    question: 'Backward needs what forward computed. Is it faster to keep three sigmoids in memory, or to compute them again?',
    guess: {choices: ['keeping is faster', 'no difference', 'computing again is faster'], limits: [0.95, 1.05], value: (f) => f.kept3 / f.again3, told: (value) => (value > 1.05 ? `computing again is ${fold(value)} as fast` : value < 0.95 ? 'keeping is faster' : 'no difference')},
    controls: [
      {slide: 'n', name: 'functions in the chain', low: 1, high: 6, start: 3},
      {choose: 'mode', name: 'Activations', of: [['kept', 'kept on the tape'], ['again', 'computed again']], start: 'kept'},
    ],
    study(state, model) {
      const n = clampTo(state.n, 1, 6);
      const keptTime = (count) => model.time(op(nested(count), 'unfused')) + model.time(op(gradientOf(range(count).map((i) => `s${i}`)), 'fused'));
      const againTime = (count) => model.time(op(nested(count), 'fused')) + model.time(op(gradientOf(range(count).map(nested)), 'fused'));
      const again = state.mode === 'again';
      return {n, again, accesses: again ? 5 : 2 * n + 2, other: again ? 2 * n + 2 : 5, kept: keptTime(n), recomputed: againTime(n), kept3: keptTime(3), again3: againTime(3)};
    },
    facts: (f) => [whichever(
      [[f.accesses, '<', f.other], () => `${f.n} function${f.n > 1 ? 's' : ''}, forward and backward: ${f.accesses} tensors through memory instead of ${f.other}.`],
      [[f.accesses, '>', f.other], () => `${f.n} functions, forward and backward: ${f.accesses} tensors through memory; ${f.again ? 'kept' : 'computed again'} it would be ${f.other}.`])],
    claims: (f) => [whichever(
      [[f.kept, '~', f.recomputed], () => `Kept ${timeOf(f.kept)}, computed again ${timeOf(f.recomputed)}: about the same.`],
      [[f.kept, '>', f.recomputed], () => `67 million numbers: ${timeOf(f.recomputed)} computed again instead of ${timeOf(f.kept)} kept, ${fold(f.kept / f.recomputed)} as fast with more arithmetic.`],
      [[f.kept, '<', f.recomputed], () => `67 million numbers: ${timeOf(f.kept)} kept, ${timeOf(f.recomputed)} computed again; here the arithmetic costs more than the traffic.`])],
    height: () => 292, seconds: 9.5, poster: 7, draw,
    tell: (f) => `A chain of ${f.n} functions forward and backward; the tape in memory keeps ${f.again ? 'the input only' : 'every activation'}.`,
    chart: (f, model) => {
      const points = (id) => model.measured('recomputation', id).map(([x, y]) => [x, y * 1e6]);
      const line = (name, fill, time) => ({name, fill, points: range(6).map((n) => [n, time(n)])});
      const at = (expr, how) => model.maybe(op(expr, how))?.time_us ?? NaN;
      return {
        title: 'Both passes', x: {title: 'functions', ticks: range(6).map((n) => [n, String(n)])}, y: {title: 'µs'}, drag: 'n', here: [f.n, f.again ? f.recomputed : f.kept],
        series: [
          line('kept', 'orange', (n) => at(nested(n), 'unfused') + at(gradientOf(range(n).map((i) => `s${i}`)), 'fused')),
          line('computed again', 'blue', (n) => at(nested(n), 'fused') + at(gradientOf(range(n).map(nested)), 'fused')),
          ...(points('chain_stored').length ? [{name: 'measured', fill: 'ink', dots: 3.5, points: [...points('chain_stored'), ...points('chain_again')]}] : []),
        ],
      };
    },
    effect: 'recomputation',
    depth: ['Kept: the forward pass writes every activation and the backward pass reads them, 2 n + 2 tensors; computed again: 5, for any length. As separate kernels the forward pass also reads what it has just written.', 'For whole networks this is checkpointing: keep the input of each layer. FlashAttention does the same with its scores.'],
  });
}
