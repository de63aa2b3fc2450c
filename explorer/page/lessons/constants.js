// Constant memory sends one word to all threads at once; texture memory keeps neighbours in two dimensions in one sector.
{
  const shapes = [[32, 1], [16, 2], [8, 4], [4, 8], [2, 16], [1, 32]];
  const sectorsOf = (width, height, tiled) => {
    const touched = new Set();
    for (let y = 0; y < height; ++y) for (let x = 0; x < width; ++x) touched.add(tiled ? `${Math.floor(x / 4)},${Math.floor(y / 2)}` : `${Math.floor(x / 8)},${y}`);
    return touched.size;
  };

  const drawConstant = (pen, f, t) => {
    const cell = pen.w / 32;
    const turn = Math.min(f.words - 1, Math.floor(phase(t, 0, 3.5) * f.words));
    pen.text(0, 16, 'constant memory', {bold: true});
    for (let i = 0; i < 32; ++i) pen.box(i * cell + 1, 28, cell - 2, 26, {fill: i < f.words ? (i === turn ? 'orange' : 'sand') : 'quiet', round: 2});
    for (let lane = 0; lane < 32; ++lane) {
      const word = lane % f.words;
      const now = word === turn;
      pen.path([[word * cell + cell / 2, 56], [lane * cell + cell / 2, 196]], {stroke: now ? 'orange' : 'quiet', width: now ? 2 : 1});
      pen.box(lane * cell + 1, 198, cell - 2, 26, {fill: word < turn ? 'sky' : now ? 'blue' : 'quiet', round: 2});
    }
    pen.text(0, 248, `turn ${turn + 1} of ${f.words}: one word for all threads that want it`, {size: 13, fit: pen.w});
  };

  const drawTexture = (pen, f) => {
    const half = (pen.w - 24) / 2;
    const cell = Math.min(half / 16, 13);
    const [w, h] = f.shape;
    for (const [k, name, tiled] of [[0, 'rows, as an array', false], [1, pen.narrow ? 'blocks, as texture' : 'blocks of 4 × 2, as a texture', true]]) {
      const x0 = k * (half + 24);
      pen.text(x0, 16, name, {bold: true, fit: half});
      const touched = new Set();
      for (let y = 0; y < h; ++y) for (let x = 0; x < w; ++x) touched.add(tiled ? `${Math.floor(x / 4)},${Math.floor(y / 2)}` : `${Math.floor(x / 8)},${y}`);
      for (let y = 0; y < 16; ++y) {
        for (let x = 0; x < 16; ++x) {
          const sector = tiled ? `${Math.floor(x / 4)},${Math.floor(y / 2)}` : `${Math.floor(x / 8)},${y}`;
          const wanted = x < w && y < h;
          pen.box(x0 + x * cell, 28 + y * cell, cell - 1, cell - 1, {fill: wanted ? 'blue' : touched.has(sector) ? 'sand' : 'quiet'});
        }
      }
      pen.text(x0, 256, `${touched.size} sectors${w > 16 || h > 16 ? ' (half of them drawn)' : ''}`, {bold: true, fit: half});
    }
  };

  lesson('constants', {
    title: 'Constant and texture memory',
    question: 'All 32 threads read the same word of constant memory, or 32 different ones: what is quicker?',
    guess: {choices: ['the same word, by far', 'both alike', 'different words'], limits: [0.5, 2], counted: true, value: () => 1 / 32, told: () => 'the same word: one turn instead of 32'},
    controls: [
      {choose: 'kind', name: 'Memory', of: [['constant', 'constant'], ['texture', 'texture']], start: 'constant'},
      {slide: 'words', name: 'different words (constant)', low: 1, high: 32, start: 4},
      {choose: 'shape', name: 'Patch of a warp (texture)', of: shapes.map(([w, h]) => `${w}x${h}`), start: '8x4'},
    ],
    counted: true,
    study(state) {
      const words = clampTo(state.words, 1, 32);
      const shape = (state.shape || '8x4').split('x').map(Number);
      return {texture: state.kind === 'texture', words, shape, rows: sectorsOf(...shape, false), blocks: sectorsOf(...shape, true)};
    },
    facts: (f) => (f.texture ? [
      `A warp reads a patch of ${f.shape[0]} × ${f.shape[1]} pixels of 4 bytes: ${f.rows} sectors in rows, ${f.blocks} in blocks.`,
      whichever(
        [[f.rows, '>', f.blocks], () => 'A texture keeps neighbours above and below in one sector, so square patches cost less.'],
        [[f.rows, '<', f.blocks], () => 'For long rows the plain array is better: coalesced access needs no texture.'],
        [[f.rows, '=', f.blocks], () => 'For this patch both cost the same.']),
    ] : [
      `${f.words} different word${f.words > 1 ? 's' : ''}: ${f.words} turn${f.words > 1 ? 's' : ''} of the constant cache.`,
      f.words === 1 ? 'One word reaches all 32 threads in a single turn: coefficients and kernel arguments live here.' : 'Threads that want another word wait for another turn.',
    ]),
    height: () => 268, seconds: 4, poster: 1, draw: (pen, f, t) => (f.texture ? drawTexture(pen, f) : drawConstant(pen, f, t)),
    tell: (f) => (f.texture ? `A patch of pixels over sectors in rows and in blocks: ${f.rows} and ${f.blocks} sectors.` : `${f.words} words of constant memory sent to 32 threads in ${f.words} turns.`),
    chart: (f) => (f.texture ? {title: 'Sectors of 32 bytes for a warp', bars: shapes.flatMap(([w, h]) => [{name: `${w} × ${h}, rows`, value: sectorsOf(w, h, false), text: String(sectorsOf(w, h, false)), lit: w === f.shape[0]}, {name: `${w} × ${h}, blocks`, value: sectorsOf(w, h, true), text: String(sectorsOf(w, h, true)), fill: 'green'}])}
      : {title: 'Turns', x: {title: 'different words'}, y: {}, drag: 'words', here: [f.words, f.words], series: [{points: [[1, 1], [32, 32]]}]}),
    depth: ['Constant memory is 64 KiB, cached beside the SM, and serves one address at a time. Kernel arguments lie in it. Blocks of 4 × 2 are an example: NVIDIA does not publish how textures lie in memory.', 'The picture counts turns and sectors. ridge does not model their times.'],
  });
}
