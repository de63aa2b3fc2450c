// A product is cut into tiles, and the SMs compute a wave of them at a time. Only the rows grow: an odd inner size would cost alignment too.
{
  const inner = 2048;
  const productAt = (model, rows, tile) => `matmul m=${rows} n=${inner} k=${inner} dtype=${model.half}${tile === 'choice' ? '' : ` tile=${tile}`}`;
  const colours = ['blue', 'orange', 'green', 'purple', 'yellow', 'soft'];

  const drawTiles = (pen, f, x, y, width, height, wave) => {
    const [down, across] = [Math.ceil(f.rows / f.tile.m), Math.ceil(inner / f.tile.n)];
    const [cw, ch] = [width / across, height / (4096 / f.tile.m)];
    for (let i = 0; i < down * across; ++i) {
      const of = Math.floor(i / f.places);
      const [cx, cy] = [x + (i % across) * cw, y + Math.floor(i / across) * ch];
      const beyond = Math.floor(i / across) === down - 1 ? f.rows / f.tile.m - (down - 1) : 1;
      pen.box(cx, cy, cw - 1, Math.max(1, ch - 1), {fill: beyond < 1 ? 'sand' : 'quiet'});
      pen.box(cx, cy, cw - 1, Math.max(1, (ch - 1) * beyond), {fill: of <= wave ? colours[of % 6] : 'sky'});
    }
  };

  const draw = (pen, f, t) => {
    const wave = Math.min(f.waves - 1, Math.floor(phase(t, 0, 4) * f.waves));
    const split = pen.narrow ? 0.36 : 0.34;
    const width = pen.w * split - 16;
    pen.text(0, 16, pen.narrow ? 'result' : 'tiles of the result', {size: 13});
    drawTiles(pen, f, 0, 26, width, 300, wave);
    const left = pen.w * split + 8;
    pen.text(left, 16, `${f.sms} SMs, wave ${wave + 1} of ${f.waves}`, {size: 13, bold: true});
    const perRow = Math.ceil(Math.sqrt((f.sms * (pen.w - left)) / 240));
    const cell = Math.min((pen.w - left) / perRow, 240 / Math.ceil(f.sms / perRow));
    const inWave = Math.min(f.places, f.tiles - wave * f.places);
    const perSm = f.places / f.sms;
    for (let sm = 0; sm < f.sms; ++sm) {
      const share = Math.max(0, Math.min(1, (inWave - sm * perSm) / perSm));
      const [x, y] = [left + (sm % perRow) * cell, 26 + Math.floor(sm / perRow) * cell];
      pen.box(x, y, cell - 2, cell - 2, {fill: 'quiet', round: 2});
      pen.box(x, y + (cell - 2) * (1 - share), cell - 2, (cell - 2) * share, {fill: colours[wave % 6], round: 2});
    }
    // Time runs to the right: one block for each wave, as full as the wave is.
    const bar = (pen.w - left) / Math.max(4, f.waves);
    for (let i = 0; i < f.waves; ++i) {
      const full = Math.min(f.places, f.tiles - i * f.places) / f.places;
      pen.box(left + i * bar, 284, bar - 2, 42, {stroke: 'line', fill: 'quiet'});
      pen.box(left + i * bar, 284 + 42 * (1 - full), bar - 2, 42 * full, {fill: i <= wave ? colours[i % 6] : 'sky'});
    }
    pen.text(left, 342, 'time: each wave lasts as long as a full one', {size: 12, fill: 'soft', fit: pen.w - left});
  };

  lesson('wave-quantization', {
    title: 'Waves of tiles',
    question: 'A matrix product gets one row more than fits into its waves. What can that cost?',
    timed: true,
    guess: {choices: ['nothing to speak of', 'about a tenth of the speed', 'a third of it or more'], limits: [0.03, 0.25], value: (f) => f.fall, told: (value) => `from ${lessonFoundStep.rows} to ${lessonFoundStep.rows + 1} rows the speed falls by ${percentOf(value)}`},
    controls: [
      {slide: 'rows', name: 'rows', low: 1024, high: 4096, start: 2049},
      {choose: 'tile', name: 'Tiles', of: [['256x128', '256 × 128'], ['128x128', '128 × 128'], ['choice', 'chosen for each size']], start: '256x128'},
    ],
    study(state, model) {
      const rows = clampTo(state.rows, 1024, 4096);
      const now = model.predict(productAt(model, rows, state.tile));
      const rate = (each) => each.flop / each.time_us;
      // The deepest fall by one row.
      const step = {fall: 0};
      for (let size = 1024; size < 4096; size += 128) {
        const [before, after] = [model.maybe(productAt(model, size, state.tile)), model.maybe(productAt(model, size + 1, state.tile))];
        const fall = before && after ? 1 - rate(after) / rate(before) : 0;
        if (fall > step.fall) Object.assign(step, {fall, rows: size, before: before.tiling, after: after.tiling});
      }
      lessonFoundStep.rows = step.rows;
      const sms = model.chip.sm_count || 0;
      const tiling = now?.tiling || {m: 256, n: 128, tiles: 1, waves: 1, wave_efficiency: 1};
      return {rows, sms, tile: {m: tiling.m, n: tiling.n}, tiles: tiling.tiles, waves: tiling.waves, places: Math.max(1, Math.ceil(tiling.tiles / tiling.waves / tiling.wave_efficiency - 1e-9)), filled: tiling.wave_efficiency, time: now?.time_us, rate: now && (now.flop / now.time_us) * 1e6, fall: step.fall, step, choice: state.tile, title: model.title};
    },
    claims: (f) => [
      `${f.rows} rows make ${f.tiles} tiles of ${f.tile.m} × ${f.tile.n}: ${f.waves} wave${f.waves > 1 ? 's' : ''}, ${percentOf(f.filled)} full, ${rateOf(f.rate, 'FLOP/s')}.`,
      whichever(
        [[f.fall, '<', 0.03], () => `With these tiles no single row costs more than ${percentOf(f.fall)} of the speed here.`],
        [[f.fall, '>=', 0.03], [f.step.after?.waves, '>', f.step.before?.waves], () => `The deepest step: at ${f.step.rows + 1} rows the speed falls by ${percentOf(f.fall)}, because ${f.step.after.tiles} tiles instead of ${f.step.before.tiles} need ${f.step.after.waves} waves instead of ${f.step.before.waves}.`],
        [[f.fall, '>=', 0.03], [f.step.after?.tiles, '>', f.step.before?.tiles], () => `The deepest step: at ${f.step.rows + 1} rows the speed falls by ${percentOf(f.fall)}: ${f.step.after.tiles} tiles instead of ${f.step.before.tiles} compute rows that do not exist.`],
        [[f.fall, '>=', 0.03], () => `The deepest step: at ${f.step.rows + 1} rows the speed falls by ${percentOf(f.fall)}, with other tiles.`]),
    ],
    height: () => 350, seconds: 5, poster: 3.4, draw,
    tell: (f) => `The result cut into ${f.tiles} tiles, and ${f.sms} SMs that compute them in ${f.waves} waves; the last is partly empty.`,
    chart: (f, model) => {
      const rates = (rows) => {
        const answer = model.maybe(productAt(model, rows, f.choice));
        return answer ? answer.flop / answer.time_us / 1e6 : NaN;
      };
      const points = [];
      for (let size = 1024; size < 4096; size += 128) points.push([size, rates(size)], [size + 1, rates(size + 1)], [size + 64, rates(size + 64)]);
      return {title: 'Speed against rows', x: {title: `rows × ${inner} × ${inner}`}, y: {title: 'TFLOP/s'}, series: [{points}], here: [f.rows, f.rate / 1e12], drag: 'rows'};
    },
    effect: 'wave-quantization',
    depth: ['Waves are ceil(tiles / places); an SM may hold two tiles at a time. The number of tiles should be a multiple of the places, not the size of the matrix.', 'With tiles of 256 × 128 a product of 1792³ has 98 tiles, one wave on the 108 SMs of an A100; 1793³ has 120, two waves. Libraries choose other tiles or split the sum, so their steps are smaller and lie elsewhere.'],
  });
}
const lessonFoundStep = {};
