// A warp reads one number in each lane; memory answers in whole sectors of 32 bytes, which lie in rows of the DRAM.
{
  const types = [['fp64', 'fp64: 8 bytes'], ['fp32', 'fp32: 4 bytes'], ['fp16', 'fp16: 2 bytes']];
  const sizes = {fp64: 8, fp32: 4, fp16: 2};
  const reads = 16777216;
  const timeAt = (model, type, stride) => model.time(`access pattern=strided stride=${stride} elements=${reads} dtype=${type}`);

  const draw = (pen, f, t) => {
    const margin = 64;
    const cell = (pen.w - margin - 2) / 32;
    const laneAt = (lane) => margin + (lane + 0.5) * cell;
    const needed = Math.floor(f.lastByte / 1024) + 1;
    const rows = needed > 8 ? 16 : 8;
    const [top, step] = [96, 264 / rows];
    const [down, up] = [phase(t, 0.2, 1.2), phase(t, 2.0, 3.2)];
    pen.text(0, 26, 'Warp', {bold: true});
    pen.text(0, top + 14, 'DRAM', {bold: true});
    if (!pen.narrow) pen.text(0, top + 30, 'rows of', {size: 12, fill: 'soft'});
    if (!pen.narrow) pen.text(0, top + 45, '1 KiB', {size: 12, fill: 'soft'});
    for (let sector = 0; sector < rows * 32; ++sector) {
      const [x, y] = [margin + (sector % 32) * cell, top + Math.floor(sector / 32) * step];
      const hit = f.touched.has(sector);
      pen.box(x + 0.5, y, cell - 1.5, step - 4, {fill: hit && t > 1.0 ? 'sand' : 'quiet', stroke: hit ? 'orange' : undefined, round: 1.5});
    }
    for (let lane = 0; lane < 32; ++lane) {
      const byte = (f.offset + lane * f.stride) * f.size;
      const [x, y] = [margin + ((byte % 1024) / 32) * cell, top + Math.floor(byte / 1024) * step];
      const width = Math.max(1.6, (f.size / 32) * cell - 0.6);
      pen.box(x + 0.5, y, width, step - 4, {fill: 'blue'});
      const from = [laneAt(lane), 34];
      const to = [x + width / 2, y];
      pen.faded(0.22, () => pen.path([from, to], {stroke: 'blue'}));
      if (down < 1 && t > 0.2) pen.dot(from[0] + (to[0] - from[0]) * down, from[1] + (to[1] - from[1]) * down, 2.5, {fill: 'blue'});
      if (up > 0 && up < 1) pen.box(to[0] + (from[0] - to[0]) * up - 2, to[1] + (from[1] - to[1]) * up - 2, 5, 5, {fill: 'orange'});
      pen.box(laneAt(lane) - cell / 2 + 1, 12, cell - 2, 22, {fill: up >= 1 || t < 0.2 ? 'blue' : 'sky', round: 3});
    }
  };

  lesson('coalescing', {
    title: 'Coalesced access',
    question: 'Each thread reads one number, eight numbers after its neighbour\'s. How much slower is that?',
    guess: {choices: ['not slower', 'about 2 times', 'about 8 times'], limits: [1.3, 4], value: (f) => f.slower, told: (value) => `${fold(value)} as long as side by side`},
    controls: [
      {slide: 'stride', name: 'stride', low: 1, high: 64, start: 8},
      {slide: 'offset', name: 'offset', low: 0, high: 31, start: 0},
      {choose: 'type', name: 'Type', of: types, start: 'fp32'},
    ],
    study(state, model) {
      const size = sizes[state.type] || 4;
      const [stride, offset] = [clampTo(state.stride, 1, 64), clampTo(state.offset, 0, 31)];
      const touched = new Set(Array.from({length: 32}, (_, lane) => Math.floor(((offset + lane * stride) * size) / 32)));
      const now = model.predict(stride === 1 && offset ? `access pattern=misaligned offset=${offset} elements=${reads} dtype=${state.type}` : `access pattern=strided stride=${stride} elements=${reads} dtype=${state.type}`);
      const best = timeAt(model, state.type, 1);
      const dram = new Set([...touched].map((sector) => Math.floor(sector / 32)));
      return {size, stride, offset, touched, type: state.type, lastByte: (offset + 31 * stride) * size, sectors: touched.size, rows: dram.size, used: size / touched.size, now: now?.time_us, best, slower: now?.time_us / best, moved: now?.dram_bytes, wanted: reads * size};
    },
    facts: (f) => [`The warp's 32 reads touch ${f.sectors} sectors of 32 bytes in ${f.rows} DRAM row${f.rows > 1 ? 's' : ''}; ${percentOf(f.used)} of the bytes are used.`],
    claims: (f) => [
      whichever(
        [[f.slower, '~', 1], () => `16.8 million reads take ${timeOf(f.now)}; side by side ${timeOf(f.best)}, about the same.`],
        [[f.slower, '>', 1.05], () => `16.8 million reads take ${timeOf(f.now)} instead of ${timeOf(f.best)}: ${fold(f.slower)} as long.`]),
      whichever([[f.moved, '>', 1.05 * f.wanted], () => `DRAM delivers ${trafficOf(f.moved)} for ${trafficOf(f.wanted)}.`]),
    ],
    height: () => 364, seconds: 4, poster: 1.6, draw,
    tell: (f) => `32 threads of a warp and the sectors of 32 bytes that they read: ${f.sectors} sectors in ${f.rows} rows.`,
    chart: (f, model) => {
      const points = Array.from({length: 64}, (_, i) => i + 1).map((stride) => [stride, (model.maybe(`access pattern=strided stride=${stride} elements=${reads} dtype=${f.type}`)?.time_us ?? NaN) / f.best]);
      const measured = f.type === 'fp32' ? model.measured('coalescing', 'useful') : [];
      const first = measured.find(([stride]) => stride === 1)?.[1];
      return {
        title: 'Time, stride 1 = 1', x: {title: 'stride'}, y: {}, drag: 'stride', here: [f.stride, f.slower],
        series: [{name: 'predicted', points}, ...(first ? [{name: 'measured', fill: 'ink', dots: 4, points: measured.filter(([stride]) => stride <= 64).map(([stride, rate]) => [stride, first / rate])}] : [])],
      };
    },
    effect: 'coalescing',
    depth: ['Four sectors make a cache line of 128 bytes. Since the P100 each sector is fetched on its own. HBM delivers 64 bytes at a time, two neighbouring sectors, so beyond a stride of 8 words DRAM moves twice what the SMs receive.', 'A transpose reads rows and writes columns. Through a tile in shared memory both go along rows.'],
    commands: (state) => [['predict', 'access', '--pattern', 'strided', '--stride', state.stride, '--elements', String(reads), '--dtype', state.type, '--gpu', state.gpu]],
  });
}
