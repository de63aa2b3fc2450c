// Lessons: the effects of performance on a chosen GPU. A lesson with a picture asks first, then shows a picture that
// follows its sliders, with figures from the model; the effect's chart and text stand below it.

const pictures = {};  // name of an effect -> {question, defaults, controls(state, change), draw(state) -> nodes}

views.lessons = {
  title: 'Lessons',
  lead: 'Why GPUs are fast or slow: one question at a time, with numbers computed for your GPU.',
  defaults: {gpu: 'h100-sxm', lesson: 'coalescing'},

  build(root, state, change) {
    const picture = pictures[state.lesson];
    for (const [name, value] of Object.entries(picture?.defaults || {})) state[name] ??= value;
    const moving = el('div', {className: 'answer'});
    const page = el('div');
    const commands = el('div');
    const words = ['effect', state.lesson, '--gpu', state.gpu];
    const fillPage = () => fill(page, () => pageNodes(engine.file(['effect', state.lesson, '--gpu', state.gpu], '/lesson.html')));
    const depth = picture && el('details', {className: 'depth', ontoggle: () => depth.open && fillPage()}, el('summary', {}, 'The sweep, what was measured, and the reasons'), page);
    root.append(el('div', {className: 'split'},
      el('div', {className: 'controls', role: 'group', ariaLabel: 'Lesson'},
        choice('Question', state.lesson, lessonList(), (lesson) => change({lesson, ...Object.fromEntries(Object.keys(picture?.defaults || {}).map((name) => [name, undefined]))}, {rebuild: true})),
        gpuChoice('GPU', state.gpu, (gpu) => change({gpu})),
        ...(picture ? picture.controls(state, change) : [])),
      el('div', {className: 'answer'}, picture ? el('h2', {className: 'question'}, picture.question) : '', moving, depth || page, commands)));
    return () => {
      if (picture) fill(moving, () => picture.draw(state));
      if (!picture || depth.open) fillPage();
      commands.replaceChildren(commandsNode(words.slice(0, 3).concat(state.gpu)));
    };
  },
};

const lessonList = () => {
  const found = engine.ask(['effect', 'list', '--format', 'csv']).output.trim().split('\n').slice(1);
  return found.map((line) => {
    const comma = line.indexOf(',');
    return [line.slice(0, comma), line.slice(comma + 1).replace(/^"|"$/g, '').replace(/""/g, '"')];
  });
};

// A drawing in units of its own that fits the page's width, below its caption.
const picture = (width, height, caption, ...nodes) => {
  const svg = svgNode('svg', {class: 'picture', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': caption});
  svg.append(...nodes);
  return [el('p', {className: 'hint caption'}, caption), svg];
};
const label = (x, y, text, anchor = 'start', style = '') => svgNode('text', {x, y, 'text-anchor': anchor, class: style}, text);

// A warp reads one element in each lane. Memory answers in sectors of 32 bytes, whole ones only.
pictures.coalescing = {
  question: 'Each thread reads one number, a few numbers after its neighbour\'s. How much slower is that?',
  defaults: {stride: '2', type: 'fp32'},
  controls: (state, change) => [
    slider('stride', state.stride, {high: 64, change: (stride) => change({stride}), help: 'elements from one thread to the next'}),
    choice('Type', state.type, [['fp64', 'fp64: 8 bytes'], ['fp32', 'fp32: 4 bytes'], ['fp16', 'fp16: 2 bytes']], (type) => change({type})),
  ],
  draw(state) {
    const size = {fp64: 8, fp32: 4, fp16: 2}[state.type];
    const stride = Math.max(1, Math.min(4096, Number(state.stride) || 1));
    const answer = (step) => engine.json(['predict', 'access', '--pattern', 'strided', '--stride', String(step), '--elements', '16777216', '--dtype', state.type, '--gpu', state.gpu]);
    const [now, best] = [answer(stride), answer(1)];
    const touched = new Set(Array.from({length: 32}, (_, lane) => Math.floor((lane * stride * size) / 32)));
    const used = (32 * size) / (touched.size * 32);
    const slower = now.error || best.error ? undefined : now.time_us / best.time_us;
    return [
      warpPicture(stride, size, touched),
      figuresOf([['sectors fetched', `${touched.size} for 32 reads`], ['of their bytes used', percentOf(used)], ['16.8 million reads take', slower ? timeOf(now.time_us) : undefined], ['than with stride 1', slower && stride > 1 ? `${numberText(slower, 3)} times as long` : undefined]]),
      el('p', {}, coalescingText(state, stride, used, slower, now)),
    ];
  },
};

const coalescingText = (state, stride, used, slower, now) => {
  if (!slower) return `${catalogue.title(state.gpu)}: ${now.error}`;
  if (stride === 1) return 'Neighbours read neighbours: every byte that memory delivers is used. Move the stride.';
  const told = `The memory delivers ${trafficOf(now.dram_bytes)} for ${trafficOf(now.compulsory_bytes)} that the threads want`;
  const same = Math.abs(slower * used - 1) < 0.15 ? ', and the time grows by as much as the bytes' : '';
  return `${told}${same}. ${now.confidence === 'roofline' ? 'For this GPU ridge knows only the datasheet, so the real cost may be larger.' : ''}`;
};

const warpPicture = (stride, size, touched) => {
  const [perRow, cell, gap] = [16, 40, 5];
  const last = Math.max(...touched);
  const shown = Math.max(32, Math.min(last + 1, 64));
  const rows = Math.ceil(shown / perRow);
  const at = (sector) => [2 + (sector % perRow) * (cell + gap), 4 + Math.floor(sector / perRow) * 30];
  const nodes = [];
  for (let sector = 0; sector < shown; ++sector) {
    const [x, y] = at(sector);
    nodes.push(svgNode('rect', {x, y, width: cell, height: 20, class: touched.has(sector) ? 'sector fetched' : 'sector'}));
  }
  for (let lane = 0; lane < 32; ++lane) {
    const byte = lane * stride * size;
    const sector = Math.floor(byte / 32);
    if (sector >= shown) break;
    const [x, y] = at(sector);
    nodes.push(svgNode('rect', {x: x + ((byte % 32) * cell) / 32, y, width: Math.max((size * cell) / 32 - 0.6, 1.6), height: 20, class: 'read'}));
  }
  return picture(perRow * (cell + gap), 4 + rows * 30, `Memory in sectors of 32 bytes${last >= shown ? ` (the first ${shown} of ${last + 1})` : ''}: ${touched.size} are fetched (light) for the 32 reads of ${size} bytes (dark).`, ...nodes);
};
