// Memory: attention against its length, or a model against length and batch, under the capacity of a GPU.

const attentionWays = ['standard', 'flash2', 'torch-flash', 'torch-efficient', 'torch-math'];

views.memory = {
  title: 'Memory',
  lead: 'What fits into a GPU: attention as sequences grow, or a whole model as sequences and batch grow.',
  defaults: {what: 'attention', gpu: 'h100-sxm', heads: '32', head_dim: '128', batch: '1', seq: '16384', pass: 'inference', model: 'llama-3.1-8b', length: '2048', phase: 'decode', dtype: 'bf16', quantise: 'none'},

  build(root, state, change) {
    const ofModel = state.what === 'model';
    const answer = el('div');
    const charts = el('div', {className: 'charts'});
    const commands = el('div');
    root.append(el('div', {className: 'split'},
      el('div', {className: 'controls', role: 'group', ariaLabel: 'Question'},
        choice('Of what', state.what, [['attention', 'attention'], ['model', 'a model']], (what) => change({what}, {rebuild: true})),
        gpuChoice('GPU', state.gpu, (gpu) => change({gpu})),
        ...(ofModel ? modelMemoryControls(state, change) : attentionControls(state, change))),
      el('div', {className: 'answer'}, answer, charts, commands)));
    const shown = new Map();
    let drawn;
    let waiting;
    return () => {
      const words = ofModel ? modelWords(state, {seq: state.length}) : [...attentionWords(state), '--impl', 'flash2', '--seq', state.seq];
      fill(answer, () => (ofModel ? modelMemory(state) : attentionMemory(state)));
      // The chart is over all lengths, so it follows every slider but this one.
      const over = ofModel ? modelMemoryWords(state) : [...attentionWords(state), '--impl', 'standard,flash2', '--seq', '1024:262144:*2'];
      clearTimeout(waiting);
      if (over.join(' ') !== drawn) {
        const draw = () => drawCharts(charts, shown, ['memory'], () => engine.file(over, 'memory.json'));
        // A model's chart follows when the hand rests.
        if (ofModel && drawn) waiting = setTimeout(draw, 200);
        else draw();
        drawn = over.join(' ');
      }
      commands.replaceChildren(commandsNode(words));
    };
  },
};

const attentionControls = (state, change) => [
  slider('tokens', state.seq, {high: 2 ** 20, change: (seq) => change({seq})}),
  slider('batch', state.batch, {high: 4096, change: (batch) => change({batch})}),
  slider('heads', state.heads, {high: 256, change: (heads) => change({heads})}),
  slider('elements of a head', state.head_dim, {low: 16, high: 256, change: (value) => change({head_dim: value})}),
  choice('Pass', state.pass, ['inference', 'training'], (pass) => change({pass})),
  choice('Type', state.dtype, ['bf16', 'fp16', 'fp32'], (dtype) => change({dtype})),
];

const attentionWords = (state) =>
  ['vram', 'attention', '--heads', state.heads, '--head-dim', state.head_dim, '--batch', state.batch, '--dtype', state.dtype, '--pass', state.pass, '--gpu', state.gpu];

const attentionMemory = (state) => {
  const ways = attentionWays.flatMap((way) => {
    try {
      return [[way, engine.json([...attentionWords(state), '--impl', way, '--seq', state.seq])]];
    } catch (error) {
      if (attentionWays.indexOf(way) === 0) throw error;
      return [];
    }
  });
  const usable = ways[0][1].usable_bytes;
  const fits = ways.filter(([, found]) => found.fits).map(([way]) => way);
  const told = fits.length === ways.length ? 'Every implementation fits.' : fits.length ? `${fits.join(', ')} fit; the others do not.` : 'No implementation fits.';
  const largest = ways.find(([way]) => way === 'flash2') || ways[0];
  return [
    el('p', {}, el('strong', {}, told), ` ${catalogue.title(state.gpu)} has ${bytesOf(usable)} that a program can use.`),
    barsOf(`${numberText(Number(state.seq), 7)} tokens`, ways.map(([way, found]) => ({name: way, value: found.total_bytes, text: bytesOf(found.total_bytes), lit: !found.fits, note: found.fits ? '' : 'does not fit'})),
      {line: usable, lineText: 'the line is what the GPU can hold'}),
    ...(largest[1].allocations?.length ? [barsOf(`What stands in memory at the peak of ${largest[0]}`, heldAtPeak(largest[1]).map(partBar))] : []),
  ];
};

const modelMemoryControls = (state, change) => [
  choice('Model', state.model, catalogue.presets, (model) => change({model})),
  choice('Phase', state.phase, ['prefill', 'decode', 'train'], (phase) => change({phase})),
  slider('tokens of a sequence', state.length, {high: 2 ** 18, change: (length) => change({length})}),
  slider('sequences', state.batch, {high: 4096, change: (batch) => change({batch})}),
  choice('Weights', state.quantise, ['none', 'fp8', 'int8', 'int4', 'nvfp4'], (quantise) => change({quantise})),
];

// The memory of a model against its length, for one sequence, for the chosen number, and for others between and beyond.
const modelMemoryWords = (state) => {
  const batches = [...new Set([1, 8, 64, Number(state.batch)])].filter((batch) => batch >= 1).sort((a, b) => a - b).join(',');
  return ['vram', state.model, '--phase', state.phase, '--batch', batches, '--seq', '1024:131072:*2', '--gpu', state.gpu, ...(state.phase === 'train' ? [] : ['--software', 'transformers']), ...(state.quantise === 'none' ? [] : ['--quantise', state.quantise])];
};

const modelWords = (state, {batch, seq} = {}) => {
  const words = ['model', state.model, '--phase', state.phase, '--batch', batch || state.batch, '--seq', seq || state.seq, '--gpu', state.gpu];
  for (const [name, usual] of [['software', 'transformers'], ['dtype', 'bf16'], ['quantise', 'none'], ['tp', '1']]) {
    if (state[name] && state[name] !== usual) words.push('--' + name, state[name]);
  }
  return words;
};

const modelMemory = (state) => {
  const found = engine.json(modelWords(state, {seq: state.length}));
  const usable = found.usable_bytes;
  const parts = Object.entries(found.peak_parts_bytes || {});
  const total = parts.reduce((sum, [, bytes]) => sum + bytes, 0);
  return [
    figuresOf([
      ['at the peak', bytesOf(total)],
      ['usable', bytesOf(usable)],
      ['largest batch', found.largest_batch === undefined ? undefined : String(found.largest_batch)],
      ['longest sequence', found.largest_seq === undefined ? undefined : numberText(found.largest_seq, 7)],
    ]),
    barsOf('What stands in memory at the peak', parts.map(([name, bytes]) => ({name, value: bytes, text: bytesOf(bytes), note: percentOf(bytes / usable)})),
      {line: usable, lineText: 'the line is what the GPU can hold; shares are of it'}),
  ];
};
