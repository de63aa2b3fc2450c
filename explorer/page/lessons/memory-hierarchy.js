// Levels of memory at distances to scale with their latency; a load travels to the level that holds the working set and back.
{
  const levelOf = (levels, bytes) => levels.findIndex((level) => bytes <= level.bytes);
  // The bundled chase follows this many pointers.
  const loadsOf = (bytes) => (bytes <= 2 ** 20 ? 2 ** 18 : 2 ** 15);
  const chase = (bytes) => `access pattern=chase dtype=fp32 elements=${Math.max(32, Math.round(bytes / 128) * 32)}`;
  const sizes = Array.from({length: 33}, (_, i) => 8192 * 2 ** (i / 2)).map((bytes) => Math.round(bytes / 128) * 128);

  const draw = (pen, f, t) => {
    const levels = f.levels;
    const most = levels[levels.length - 1].ns * 1.06;
    const left = 56;
    const scale = (pen.w - left - 60) / most;
    const road = 150;
    pen.box(0, road - 24, 46, 48, {fill: 'orange', round: 5});
    pen.text(23, road + 5, 'SM', {align: 'center', fill: 'paper', bold: true, size: 15});
    pen.path([[46, road], [pen.w, road]], {stroke: 'line', width: 6});
    levels.forEach((level, i) => {
      const x = left + level.ns * scale;
      // The height of a station grows by one step for each power of ten of its bytes.
      const height = 14 * Math.max(1, Math.log10(level.bytes) - 3);
      const here = i === f.at;
      pen.box(x - 9, road - height / 2, 18, height, {fill: here ? 'blue' : 'sky', stroke: 'blue', round: 4});
      const above = i % 2 === 0;
      const ty = above ? road - height / 2 - 24 : road + height / 2 + 18;
      const align = x > pen.w - 70 ? 'right' : x < 90 ? 'left' : 'center';
      const tx = align === 'right' ? Math.min(pen.w, x + 40) : align === 'left' ? x - 9 : x;
      pen.text(tx, ty, level.name, {size: 13, bold: here, align});
      pen.text(tx, ty + 16, `${bytesOf(level.bytes)}, ${numberText(level.ns, 3)} ns`, {size: 12, fill: 'soft', align});
    });
    // One second of the picture is 200 ns; loads leave as soon as the one before is back.
    const trip = (2 * f.levels[f.at].ns) / 200 / 2;
    const share = (t % trip) / trip;
    const far = left + f.levels[f.at].ns * scale;
    const x = share < 0.5 ? 46 + (far - 46) * share * 2 : far - (far - 46) * (share - 0.5) * 2;
    pen.dot(x, road, 8, {fill: share < 0.5 ? 'paper' : 'orange', stroke: 'orange', width: 3});
    pen.text(0, road + 46, `loads done: ${Math.floor(t / trip)}`, {bold: true});
    pen.path([[left, 296], [left + 100 * scale, 296]], {stroke: 'soft', width: 2});
    pen.text(left, 290, '100 ns of travel', {size: 12, fill: 'soft'});
    pen.text(pen.w, 290, 'height: a step for ten times the bytes', {size: 12, fill: 'soft', align: 'right', fit: pen.w - left - 110});
  };

  lesson('memory-hierarchy', {
    title: 'Levels of memory',
    question: 'A load from DRAM instead of the cache beside the SM: how much longer does it take?',
    guess: {choices: ['about 3 times', 'about 10 times', '20 times or more'], limits: [6, 15], counted: true, value: (f) => f.ratio, told: (value) => `${fold(value)} as long`},
    controls: [{slide: 'bytes', name: 'working set, KiB', low: 8, high: 524288, start: 65536, doubling: true}],
    study(state, model) {
      const bytes = clampTo(state.bytes, 8, 524288) * 1024;
      const named = {L1: 'L1', L2: 'L2'};
      const levels = (model.chip.memory || []).filter((level) => level.latency_ns && level.name !== 'registers')
        .map((level) => ({name: named[level.name.slice(0, 2)] || level.name, ns: level.latency_ns, bytes: level.per_sm_bytes || level.bytes, rate: level.bytes_per_s}));
      if (levels.length < 2) {
        model.refused = 'its latencies are not known';
        return {levels: []};
      }
      const at = levelOf(levels, bytes) < 0 ? levels.length - 1 : levelOf(levels, bytes);
      return {bytes, levels, at, ratio: levels[levels.length - 1].ns / levels[0].ns};
    },
    facts: (f) => (f.levels.length ? [
      `Distances are to scale: ${f.levels.map((level) => `${level.name} ${numberText(level.ns, 3)} ns`).join(', ')}.`,
      whichever([[f.ratio, '>', 1.05], () => `The farthest takes ${fold(f.ratio)} as long as the nearest, for ${fold(f.levels[f.levels.length - 1].bytes / f.levels[0].bytes)} the bytes.`]),
    ] : []),
    height: () => 304, seconds: 60, poster: 0.4,
    draw: (pen, f, t) => (f.levels.length ? draw(pen, f, t) : pen.text(0, 40, 'The latencies of this chip are not known.', {})),
    tell: (f) => `Levels of memory on a road, as far from the SM as their latency: ${f.levels.map((level) => level.name).join(', ')}.`,
    chart: (f, model) => {
      const measured = model.measured('memory-hierarchy', 'chase').filter(([x]) => typeof x === 'number');
      return {
        title: 'One dependent load', x: {title: 'working set', log: true, ticks: [[2 ** 13, '8 KiB'], [2 ** 18, '256 KiB'], [2 ** 23, '8 MiB'], [2 ** 28, '256 MiB']]}, y: {title: 'ns'},
        here: f.bytes ? [f.bytes, latencyOf(model, f.bytes)] : undefined,
        series: [{name: 'predicted', points: sizes.map((bytes) => [bytes, latencyOf(model, bytes)])}, ...(measured.length ? [{name: 'measured', fill: 'ink', dots: 3.5, points: measured.map(([bytes, seconds]) => [bytes, seconds * 1e9])}] : [])],
      };
    },
    effect: 'memory-hierarchy',
    depth: ['A chain of dependent loads waits for each in turn; that is its latency. Bandwidth is another thing: many loads travel at once, so DRAM can be far away and still deliver terabytes a second.', 'Since the A100 the L2 has two halves, each near half of the SMs. From about half of its size on, part of the data lies in the far half.'],
  });
  const latencyOf = (model, bytes) => {
    const answer = model.maybe(chase(bytes));
    return answer ? (answer.time_us * 1000) / loadsOf(bytes) : NaN;
  };
}
