// Lessons on the 32 threads of a warp: banks of shared memory, and branches.

const accessAnswer = (state, pattern, field, value) =>
  engine.json(['predict', 'access', '--pattern', pattern, `--${field}`, String(value), '--elements', '16777216', '--dtype', 'fp32', '--gpu', state.gpu]);

// What the numbers support, and no more.
const timesAsLong = (state, now, best, what) => {
  if (now.error || best.error) return `${catalogue.title(state.gpu)}: ${now.error || best.error}`;
  if (now.confidence === 'roofline') return 'For this GPU ridge knows only the datasheet: the picture is right, the cost is not modelled.';
  const slower = now.time_us / best.time_us;
  return slower < 1.05 ? `${what} costs nothing here: 16.8 million elements take ${timeOf(now.time_us)} either way, because ${resourceNames[now.limiter] || now.limiter} takes as long.`
    : `16.8 million elements take ${timeOf(now.time_us)} instead of ${timeOf(best.time_us)}: ${numberText(slower, 3)} times as long.`;
};

pictures['bank-conflicts'] = {
  question: '32 threads read a column of a matrix in shared memory. Why does an unused column make it faster?',
  defaults: {pitch: '32'},
  controls: (state, change) => [fineSlider('words in a row of the matrix', state.pitch, {low: 1, high: 64, change: (pitch) => change({pitch})})],
  draw(state) {
    const pitch = Math.max(1, Math.min(1024, Number(state.pitch) || 32));
    const banks = Array.from({length: 32}, () => 0);
    for (let lane = 0; lane < 32; ++lane) ++banks[(lane * pitch) % 32];
    const turns = Math.max(...banks);
    const [now, best] = [accessAnswer(state, 'bank_conflict', 'ways', turns), accessAnswer(state, 'bank_conflict', 'ways', 1)];
    return [
      bankPicture(pitch, turns),
      figuresOf([['banks in use', `${banks.filter(Boolean).length} of 32`], ['turns', String(turns)], ['without conflicts', best.time_us ? timeOf(best.time_us) : undefined], ['with these', now.time_us ? timeOf(now.time_us) : undefined]]),
      el('p', {}, turns === 1 ? `A row of ${pitch} words sends the 32 threads to 32 banks: one turn serves them all.` : `A row of ${pitch} words sends ${turns} threads to the same bank, which serves one at a time. ${timesAsLong(state, now, best, 'Waiting for a bank')}`),
    ];
  },
};

const bankPicture = (pitch, turns) => {
  const cell = 24;
  const nodes = [];
  const heights = Array.from({length: 32}, () => 0);
  const step = Math.min(18, 340 / turns);
  const floor = 4 + turns * step;
  for (let lane = 0; lane < 32; ++lane) {
    const bank = (lane * pitch) % 32;
    const y = floor - ++heights[bank] * step;
    nodes.push(svgNode('rect', {x: bank * (cell + 3), y, width: cell, height: step - 1.5, class: 'slot busy'}));
    if (step >= 12) nodes.push(label(bank * (cell + 3) + cell / 2, y + step / 2 + 3.5, String(lane), 'middle', 'fine'));
  }
  for (let bank = 0; bank < 32; ++bank) {
    nodes.push(svgNode('rect', {x: bank * (cell + 3), y: floor + 2, width: cell, height: 4, class: 'slot'}));
    nodes.push(label(bank * (cell + 3) + cell / 2, floor + 20, String(bank), 'middle', 'fine'));
  }
  return picture(32 * (cell + 3), floor + 26, `The 32 banks of shared memory, and the threads that each must serve: the fullest serves ${turns}.`, ...nodes);
};

pictures.divergence = {
  question: 'The threads of a warp take different branches. What does that cost?',
  defaults: {paths: '4'},
  controls: (state, change) => [fineSlider('branches taken in a warp', state.paths, {low: 1, high: 32, change: (paths) => change({paths})})],
  draw(state) {
    const paths = Math.max(1, Math.min(32, Number(state.paths) || 1));
    const [now, best] = [accessAnswer(state, 'divergent', 'paths', paths), accessAnswer(state, 'divergent', 'paths', 1)];
    return [
      branchPicture(paths),
      figuresOf([['passes', String(paths)], ['lanes at work', percentOf(1 / paths)], ['one branch', best.time_us ? timeOf(best.time_us) : undefined], ['with these', now.time_us ? timeOf(now.time_us) : undefined]]),
      el('p', {}, paths === 1 ? 'All 32 threads go the same way and work at once.' : `The warp runs each branch by itself while the other threads wait, masked. ${timesAsLong(state, now, best, 'Branching')}`),
    ];
  },
};

const branchPicture = (paths) => {
  const [cell, row] = [20, Math.min(20, 360 / paths)];
  const nodes = [];
  for (let pass = 0; pass < paths; ++pass) {
    if (row >= 11) nodes.push(label(0, 4 + pass * row + row / 2 + 3, `${pass + 1}`));
    for (let lane = 0; lane < 32; ++lane) {
      nodes.push(svgNode('rect', {x: 30 + lane * (cell + 3), y: 2 + pass * row, width: cell, height: row - 2, class: lane % paths === pass ? 'slot busy' : 'slot'}));
    }
  }
  return picture(30 + 32 * (cell + 3), 6 + paths * row, paths === 1 ? 'The 32 lanes of the warp in one pass: all work.' : `The 32 lanes of the warp, one row for each pass: in each, one lane of ${paths} works, the others are masked.`, ...nodes);
};
