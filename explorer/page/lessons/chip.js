// The floor plan of a chip: SMs in pairs (TPC), pairs in clusters (GPC), and how MIG divides it.
{
  // Of the full die, by NVIDIA's white papers: [clusters, pairs in each]; a product has some SMs switched off.
  const dies = [[/^p100/, 'GP100', 6, 5], [/^v100/, 'GV100', 6, 7], [/^t4/, 'TU104', 6, 4], [/^a100/, 'GA100', 8, 8], [/^a10$|^rtx-3090/, 'GA102', 7, 6], [/^(h100|h200|gh200)/, 'GH100', 8, 9], [/^(l40s|rtx-4090)/, 'AD102', 12, 6], [/^rtx-(5090|pro)/, 'GB202', 12, 8]];
  const product = (half) => `matmul m=4096 n=4096 k=4096 dtype=${half}`;
  const sliceNames = (gib) => [[1, 1], [2, 2], [3, 4], [4, 4], [7, 8]].map(([units, eighths]) => [units, `${units}g.${Math.round((gib * eighths) / 8)}gb`]);

  const draw = (pen, f) => {
    const {clusters, pairs, sms} = f;
    const columns = pen.narrow ? Math.min(2, clusters) : Math.min(4, clusters);
    const rows = Math.ceil(clusters / columns);
    const [w, h] = [(pen.w - 8) / columns, 240 / rows];
    const total = clusters * pairs * 2;
    // SMs switched off, spread over the clusters.
    const off = new Set(Array.from({length: Math.max(0, total - sms)}, (_, i) => (i % clusters) * pairs * 2 + pairs * 2 - 1 - Math.floor(i / clusters)));
    let on = 0;
    for (let c = 0; c < clusters; ++c) {
      const [x, y] = [4 + (c % columns) * w, 26 + Math.floor(c / columns) * h];
      if (f.die) pen.box(x, y, w - 8, h - 8, {stroke: 'soft', round: 5});
      if (f.die && h > 60) pen.text(x + 6, y + 15, `GPC ${c + 1}`, {size: 12, fill: 'soft'});
      const perRow = Math.max(1, Math.ceil(Math.sqrt((pairs * (w - 16)) / (h - 34))));
      const lines = Math.ceil(pairs / perRow);
      const [pw, ph] = [(w - 20) / perRow, Math.max(6, (h - (f.die && h > 60 ? 34 : 16)) / lines)];
      for (let p = 0; p < pairs; ++p) {
        const [px, py] = [x + 6 + (p % perRow) * pw, y + (f.die && h > 60 ? 20 : 4) + Math.floor(p / perRow) * ph];
        pen.box(px, py, pw - 3, ph - 3, {fill: 'quiet', round: 2});
        for (let s = 0; s < 2; ++s) {
          const index = c * pairs * 2 + p * 2 + s;
          if (index >= total) continue;
          const dark = off.has(index);
          const mine = !dark && on++ < f.mySms;
          pen.box(px + 2 + (s * (pw - 5)) / 2, py + 2, (pw - 9) / 2, ph - 7, {fill: dark ? 'paper' : mine ? 'orange' : 'blue', stroke: dark ? 'line' : undefined, dash: dark ? [2, 2] : undefined, round: 1});
        }
      }
    }
    pen.text(4, 16, f.die ? `${f.die}: ${clusters} clusters of ${pairs} pairs of SMs` : `${sms} SMs`, {bold: true, fit: pen.w});
    // Memory, as far as the slice has it.
    pen.box(4, 272, pen.w - 8, 18, {fill: 'sky', round: 3});
    pen.box(4, 272, (pen.w - 8) * f.memoryShare, 18, {fill: f.units ? 'orange' : 'blue', round: 3});
    pen.text(4, 308, `memory: ${percentOf(f.memoryShare)} of ${bytesOf(f.memory)}`, {size: 12, fill: 'soft'});
  };

  lesson('chip', {
    title: 'Inside the chip: GPC, TPC, SM and MIG',
    question: 'One seventh of a GPU (a MIG slice) multiplies the same matrices. How much longer does it take?',
    guess: {choices: ['less than 6 times', '6 to 7 times', 'more than 7 times'], limits: [6, 7], value: (f) => f.smallest, told: (value) => `${fold(value)} as long`},
    controls: [{choose: 'units', name: 'Slice', of: [['0', 'the whole chip'], ['1', '1 of 7'], ['2', '2 of 7'], ['3', '3 of 7'], ['4', '4 of 7']], start: '0'}],
    study(state, model) {
      const sms = model.chip.sm_count || 0;
      if (!sms) {
        model.refused = 'it has no multiprocessors';
        return {};
      }
      const die = dies.find(([pattern]) => pattern.test(model.gpu));
      const level = (model.chip.memory || []).slice(-1)[0];
      const memory = level?.bytes || 0;
      const whole = model.predict(product(model.half));
      const slices = sliceNames(memory / 2 ** 30).map(([units, name]) => ({units, name, answer: model.quietly(() => model.predict(product(model.half), `${model.gpu}:${name}`))})).filter((each) => each.answer);
      const mine = slices.find((each) => each.units === Number(state.units));
      const time = (mine?.answer || whole)?.time_us;
      return {sms, die: die?.[1], clusters: die?.[2] || 1, pairs: die?.[3] || Math.ceil(sms / 2), memory, units: mine?.units || 0, name: mine?.name, mySms: mine ? Math.round((sms * mine.answer.peak_flop_per_s) / whole.peak_flop_per_s) : 0, memoryShare: mine ? mine.answer.bandwidth_bytes_per_s / whole.bandwidth_bytes_per_s : 1, whole: whole?.time_us, time, slower: time / whole?.time_us, smallest: slices.length ? slices[0].answer.time_us / whole.time_us : NaN, bars: slices, has: slices.length, title: model.title};
    },
    facts: (f) => [f.die ? `The full die has ${f.clusters * f.pairs * 2} SMs in ${f.clusters} clusters (GPC) of ${f.pairs} pairs (TPC); this product uses ${f.sms}.` : `${f.title} has ${f.sms} SMs.`,
      f.has ? undefined : 'ridge knows no MIG slices of it.'],
    claims: (f) => [whichever(
      [[f.units, '=', 0], () => `The whole chip multiplies 4096³ in ${timeOf(f.time)}.`],
      [[f.slower, '>', 1.05], () => `The slice ${f.name} has ${f.mySms} SMs and ${percentOf(f.memoryShare)} of the bandwidth: ${timeOf(f.time)} instead of ${timeOf(f.whole)}, ${fold(f.slower)} as long.`],
      [[f.slower, '>', 0], () => `The slice ${f.name} has ${f.mySms} SMs: ${timeOf(f.time)}; the whole chip takes ${timeOf(f.whole)}.`])],
    height: () => 316, draw,
    tell: (f) => `${f.sms} SMs of the chip, ${f.mySms} of them in the slice.`,
    chart: (f) => ({title: 'A product of 4096³', bars: [{name: 'whole chip', value: f.whole || 0, text: f.whole ? timeOf(f.whole) : 'not modelled', lit: !f.units}, ...f.bars.map((each) => ({name: each.name, value: each.answer.time_us, text: timeOf(each.answer.time_us), lit: each.units === f.units}))]}),
    depth: ['A TPC pairs two SMs; a GPC is a cluster of TPCs, and blocks of a thread block cluster share one GPC. A MIG slice has its own SMs, L2 and memory channels, so that neighbours cannot disturb it.'],
    commands: (state) => [['predict', 'matmul', '--m', '4096', '--n', '4096', '--k', '4096', '--gpu', state.gpu]],
  });
}
