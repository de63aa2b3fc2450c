// Lesson on waves: a product is cut into tiles, and each SM computes some at a time, so the last wave is rarely full.

// Only the rows grow: an odd inner size would cost alignment as well, which is another lesson.
const productWords = (state, rows) => ['predict', 'matmul', '--m', String(rows), '--n', '2048', '--k', '2048', ...(state.tile === 'choice' ? [] : ['--tile', state.tile]), '--gpu', state.gpu];

pictures['wave-quantization'] = {
  question: 'A product gets one row more. What can that cost?',
  defaults: {size: '2048', tile: '256x128'},
  controls: (state, change) => [
    fineSlider('rows (times 2048 × 2048)', state.size, {low: 1024, high: 4096, change: (size) => change({size})}),
    choice('Tiles', state.tile, [['256x128', 'always 256 × 128'], ['128x128', 'always 128 × 128'], ['choice', 'chosen for each size, as libraries do']], (tile) => change({tile})),
  ],
  draw(state) {
    const size = Math.max(16, Number(state.size) || 2048);
    const now = engine.json(productWords(state, size));
    if (now.error || !now.tiling) return [problem(now.error || `The tiles of ${catalogue.title(state.gpu)} are not modelled.`)];
    const saw = sawtooth(state);
    const {tiling} = now;
    const sms = catalogue.gpus.find((each) => each.name === state.gpu).sm_count;
    return [
      wavePicture(tiling, sms),
      figuresOf([['tiles', `${tiling.tiles} of ${tiling.m} × ${tiling.n}`], ['waves', `${tiling.waves} over ${sms} SMs`], ['places used', percentOf(tiling.wave_efficiency)], ['of each tile used', percentOf(tiling.tile_efficiency)], ['time', timeOf(now.time_us)], ['rate', rateOf(now.flop / (now.time_us * 1e-6), 'FLOP/s')]]),
      el('p', {}, stepText(state, saw, now)),
      sawPicture(saw, size, now),
    ];
  },
};

const rateOfAnswer = (answer) => answer.flop / answer.time_us;

// The rate at every size that is a multiple of 128, at the one after it, and halfway; and the deepest fall by one.
const sawtooth = (state) => {
  const key = `${state.gpu} ${state.tile}`;
  if (sawtooth.known?.key === key) return sawtooth.known;
  const points = [];
  let worst = {fall: 1};
  for (let size = 1024; size < 4096; size += 128) {
    const answers = [size, size + 1, size + 64].map((each) => engine.json(productWords(state, each)));
    const rates = answers.map(rateOfAnswer);
    rates.forEach((rate, i) => points.push([size + [0, 1, 64][i], rate]));
    const fall = rates[1] / rates[0];
    if (fall < worst.fall) worst = {size, fall, before: answers[0].tiling, after: answers[1].tiling};
  }
  return (sawtooth.known = {key, points, worst});
};

const reasonOf = ({before, after}) => {
  if (after.waves > before.waves) return `because ${after.tiles} tiles instead of ${before.tiles} need ${after.waves} waves instead of ${before.waves}`;
  return after.tiles > before.tiles ? `because ${after.tiles} tiles instead of ${before.tiles} compute rows that do not exist` : 'because other tiles are chosen';
};

const stepText = (state, {worst}, now) => {
  if (now.confidence === 'roofline') return 'The kernels of this GPU are not modelled, so its tiles are an assumption and its steps are not to be believed.';
  if (!worst.size || worst.fall > 0.97) return `On ${catalogue.title(state.gpu)} no step by one costs more than ${percentOf(1 - worst.fall)} of the speed with these tiles.`;
  return `The deepest step on ${catalogue.title(state.gpu)}: from ${worst.size} to ${worst.size + 1} the rate falls by ${percentOf(1 - worst.fall)}, ${reasonOf(worst)}.`;
};

// Every whole number is a step.
const fineSlider = (name, value, {low, high, change}) => {
  const node = slider(name, value, {low, high, change});
  const [box, range] = node.querySelectorAll('input');
  const fresh = el('input', {type: 'range', min: low, max: high, step: 1, value});
  fresh.setAttribute('aria-label', range.getAttribute('aria-label'));
  fresh.addEventListener('input', () => {
    box.value = fresh.value;
    change(fresh.value);
  });
  box.addEventListener('input', () => {
    fresh.value = box.value;
  });
  range.replaceWith(fresh);
  return node;
};

const wavePicture = (tiling, sms) => {
  const perRow = Math.ceil(sms / Math.ceil(sms / 66));
  const rowsOfWave = Math.ceil(sms / perRow);
  const cell = 10;
  const waves = Math.min(tiling.waves, 8);
  const heightOfWave = rowsOfWave * (cell + 2) + 12;
  // Several tiles may share an SM at a time, so a wave holds a multiple of the SMs.
  const places = Math.ceil(tiling.tiles / tiling.waves / tiling.wave_efficiency);
  const nodes = [];
  for (let wave = 0; wave < waves; ++wave) {
    const left = Math.max(0, Math.min(places, tiling.tiles - wave * places));
    nodes.push(label(0, wave * heightOfWave + 22, `wave ${wave + 1}`));
    for (let sm = 0; sm < sms; ++sm) {
      const busy = sm < Math.round((left / places) * sms);
      nodes.push(svgNode('rect', {x: 76 + (sm % perRow) * (cell + 2), y: wave * heightOfWave + 12 + Math.floor(sm / perRow) * (cell + 2), width: cell, height: cell, class: busy ? 'slot busy' : 'slot'}));
    }
  }
  return picture(80 + perRow * (cell + 2), waves * heightOfWave + 8, `Each square is a place on one of ${sms} SMs, filled while it computes a tile; a row of squares is a wave${tiling.waves > waves ? ` (the first ${waves} of ${tiling.waves})` : ''}.`, ...nodes);
};

// Rate against size, and where the slider stands.
const sawPicture = ({points}, size, now) => {
  const [width, height, left] = [860, 200, 30];
  const most = Math.max(...points.map((point) => point[1]), rateOfAnswer(now)) * 1.08;
  const place = ([x, rate]) => [left + ((x - 1024) / (4096 - 1024)) * (width - left - 8), height - 26 - (rate / most) * (height - 40)];
  const nodes = [svgNode('path', {class: 'saw', d: pathOf(points.map(place))})];
  for (const x of [1024, 1536, 2048, 2560, 3072, 3584, 4096]) nodes.push(label(place([x, 0])[0], height - 8, String(x), x === 4096 ? 'end' : 'middle'));
  nodes.push(label(0, 20, rateOf(most * 1e6, 'FLOP/s')), label(0, height - 26, '0'));
  const [x, y] = place([Math.min(4096, Math.max(1024, size)), rateOfAnswer(now)]);
  nodes.push(svgNode('circle', {class: 'here', cx: x, cy: y, r: 5}));
  return picture(width, height, 'The rate of the product against its rows; the dot is where the slider stands.', ...nodes);
};
