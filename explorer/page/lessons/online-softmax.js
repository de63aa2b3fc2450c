// The maximum and the sum of a row in one pass: when a new maximum appears, the sum so far is rescaled.
{
  const rows = {mixed: [2, 5, 1, 7, 3, 6, 4, 8], rising: [1, 2, 3, 4, 5, 6, 7, 8], falling: [8, 7, 6, 5, 4, 3, 2, 1]};
  const statesOfRow = (row) => {
    let [m, l] = [-Infinity, 0];
    return row.map((x) => {
      const next = Math.max(m, x);
      const scale = m === -Infinity ? 0 : Math.exp(m - next);
      const old = l;
      l = l * scale + Math.exp(x - next);
      m = next;
      return {x, m, l, scale, old, added: Math.exp(x - next)};
    });
  };

  const draw = (pen, f, t) => {
    const {row, states} = f;
    const now = Math.min(row.length - 1, Math.floor(t / 1.2));
    const part = phase(t - now * 1.2, 0, 0.8);
    const wide = Math.min(64, (pen.w * (pen.narrow ? 0.62 : 0.6)) / row.length);
    const floor = 220;
    row.forEach((x, i) => {
      const height = x * 22;
      pen.box(i * wide + 2, floor - height, wide - 6, height, {fill: i === now ? 'orange' : i < now ? 'blue' : 'quiet', stroke: i > now ? 'line' : undefined, round: 2});
      pen.text(i * wide + wide / 2 - 1, floor + 18, String(x), {align: 'center', bold: i === now});
    });
    const {m, l, scale, old, added} = states[now];
    const line = floor - m * 22;
    pen.path([[0, line], [row.length * wide, line]], {stroke: 'green', width: 2, dash: [5, 3]});
    pen.text(row.length * wide + 4, line + 5, `m = ${m}`, {fill: 'green', bold: true});
    // The sum as a column: what was there, scaled, and what comes.
    const x = row.length * wide + (pen.narrow ? 52 : 90);
    const unit = 100;
    const scaled = old * (1 + (scale - 1) * part) || 0;
    pen.box(x, floor - 2.0 * unit, 46, 2.0 * unit, {stroke: 'line'});
    pen.box(x, floor - Math.min(2, scaled) * unit, 46, Math.min(2, scaled) * unit, {fill: 'blue'});
    pen.box(x, floor - Math.min(2, scaled + added * part) * unit, 46, added * part * unit, {fill: 'orange'});
    pen.text(x + 23, floor + 18, pen.narrow ? `l = ${numberText(l, 4)}` : `sum l = ${numberText(l, 4)}`, {align: 'center', bold: true});
    pen.text(0, 262, now === 0 ? 'first number: m is it, l = 1' : scale < 1 ? `new maximum: l × exp(${states[now - 1].m} − ${m}) + 1 = ${numberText(old, 4)} × ${numberText(scale, 3)} + 1` : `no new maximum: l + exp(${states[now].x} − ${m}) = ${numberText(old, 4)} + ${numberText(added, 3)}`, {size: 13, fit: pen.w});
  };

  const softmaxTime = (model, cols, how) => model.time(`softmax rows=65536 cols=${cols} dtype=${model.half} impl=${how}`);

  lesson('online-softmax', {
    title: 'Softmax in one pass',
    question: 'Softmax needs the largest number of a row first. Can the sum be found in the same pass?',
    guess: {choices: ['no, two passes', 'only for sorted rows', 'yes, by rescaling'], limits: [-2, -1], counted: true, value: (f) => (f.exact ? 0 : -3), told: () => 'yes: each new maximum rescales the sum so far'},
    controls: [{choose: 'order', name: 'Row', of: [['mixed', 'mixed'], ['rising', 'rising'], ['falling', 'falling']], start: 'mixed'}],
    counted: true,
    study(state, model) {
      const row = rows[state.order] || rows.mixed;
      const states = statesOfRow(row);
      const most = Math.max(...row);
      const direct = row.reduce((sum, x) => sum + Math.exp(x - most), 0);
      const rescaled = states.filter((each, i) => i && each.scale < 1).length;
      const [manual, fused] = [softmaxTime(model, 4096, 'manual'), softmaxTime(model, 4096, 'fused')];
      return {row, states, rescaled, l: states[states.length - 1].l, direct, exact: Math.abs(direct - states[states.length - 1].l) < 1e-9, manual, fused};
    },
    facts: (f) => [`The row rescales its sum ${f.rescaled} time${f.rescaled === 1 ? '' : 's'} and ends with l = ${numberText(f.l, 5)}, as in two passes.`],
    claims: (f) => [whichever(
      [[f.manual, '~', f.fused], () => `65,536 rows of 4096 take ${timeOf(f.fused)} in one kernel and ${timeOf(f.manual)} in five: about the same.`],
      [[f.manual, '>', f.fused], () => `65,536 rows of 4096 take ${timeOf(f.fused)} in one kernel instead of ${timeOf(f.manual)} in five: ${fold(f.manual / f.fused)} as fast.`],
      [[f.manual, '<', f.fused], () => `65,536 rows of 4096 take ${timeOf(f.fused)} in one kernel, ${timeOf(f.manual)} in five.`])],
    height: () => 276, seconds: 9.6, step: 1.2, poster: 4.6, draw,
    tell: (f) => `A row of ${f.row.length} numbers; the running maximum is a line, the running sum a column that is rescaled ${f.rescaled} times.`,
    chart: (f, model) => {
      if (!Number.isFinite(f.manual)) return undefined;
      const cols = [128, 256, 512, 1024, 2048, 4096];
      const line = (name, fill, how) => ({name, fill, points: cols.map((n) => [n, model.quietly(() => softmaxTime(model, n, how)) / 1000])});
      return {title: '65,536 rows', x: {title: 'columns', log: true, ticks: cols.map((n) => [n, String(n)])}, y: {title: 'ms', log: true}, series: [line('five kernels', 'orange', 'manual'), line('one kernel', 'blue', 'fused')]};
    },
    effect: 'online-softmax',
    depth: ['m′ = max(m, x) and l′ = l exp(m − m′) + exp(x − m′) (Milakov and Gimelshein, 2018). Pairs (m, l) of two halves of a row can be merged, so softmax can be computed block by block together with the product that follows: FlashAttention.'],
  });
}
