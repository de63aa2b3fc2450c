// Compare: one operation or one model on several GPUs and, below, on every chip over the years; or what the chips
// themselves gained over the years.

views.compare = {
  title: 'Compare',
  lead: 'The same question to several GPUs, and to every chip over the years.',
  defaults: {what: 'operation', gpus: 'a100-sxm-80gb,h100-sxm,h200-sxm,b200', op: 'matmul', model: 'llama-3.1-8b', phase: 'decode', sequences: '16', tokens: '2048', stack: 'serving'},

  build(root, state, change) {
    const operation = catalogue.operation(state.op);
    if (state.what === 'operation') for (const [name, value] of Object.entries(startOf(operation))) state[name] ??= value;
    state.stack = softwareOf(state.phase, state.stack);
    const answer = el('div');
    const rest = el('div', {className: 'below'});
    const commands = el('div');
    const questions = [choice('What', state.what, [['operation', 'an operation'], ['model', 'a model'], ['years', 'the chips themselves']], (what) => change({what}, {rebuild: true}))];
    if (state.what !== 'years') questions.push(chipsControl(state, change));
    if (state.what === 'operation') {
      questions.push(choice('Operation', operation.op, catalogue.operations.map((each) => each.op), (op) => change({op, ...cleared(operation, state)}, {rebuild: true})), ...fieldControls(operation, state, (values) => change(values)));
    }
    if (state.what === 'model') {
      questions.push(choice('Model', state.model, catalogue.presets, (model) => change({model})), choice('Phase', state.phase, ['prefill', 'decode', 'train'], (phase) => change({phase}, {rebuild: true})),
        slider('sequences', state.sequences, {high: 1024, change: (sequences) => change({sequences})}), slider('tokens', state.tokens, {high: 2 ** 17, change: (tokens) => change({tokens})}),
        softwareChoice(state.phase, state.stack, (stack) => change({stack})));
    }
    root.append(el('div', {className: 'split'}, el('div', {className: 'controls', role: 'group', ariaLabel: 'Question'}, questions), el('div', {className: 'answer'}, answer, rest, commands)));
    const work = workIn(rest, {stay: true});
    let waiting;
    let asked;
    return () => {
      clearTimeout(waiting);
      if (state.what === 'years') {
        const words = ['effect', 'scaling', '--gpu', state.gpus.split(',')[0] || 'h100-sxm'];
        fill(answer, () => pageNodes(engine.file(words, 'scaling.html')));
        commands.replaceChildren(commandsNode(words));
        return;
      }
      const wordsFor = (gpus) => (state.what === 'model'
        ? ['compare', ...modelWords({...state, gpu: gpus, batch: state.sequences, seq: state.tokens, software: state.stack})]
        : ['compare', operation.op, ...fieldWords(operation, state), '--gpu', gpus]);
      fill(answer, () => comparedBars(engine.json(wordsFor(state.gpus))));
      commands.replaceChildren(commandsNode(wordsFor(state.gpus)));
      const years = catalogue.years;
      const all = wordsFor([...years.keys()].join(','));
      if (asked === all.join(' ')) return;
      // The chart of all chips follows when the hand rests.
      waiting = setTimeout(() => {
        asked = all.join(' ');
        work.run(async (ask) => {
          const found = await ask([...all, '--format', 'json']);
          if (!found.output.trim()) throw new Error(messageOf(found));
          return overTheYears(JSON.parse(found.output), years, state.gpus.split(','));
        });
      }, rest.childElementCount ? 250 : 30);
    };
  },
};

const timeKey = (row) => row.wall_us ?? row.time_us;

const comparedBars = (found) => {
  const rows = found.filter(timeKey).sort((a, b) => timeKey(a) - timeKey(b));
  const others = found.filter((row) => !timeKey(row));
  const longest = rows.length ? timeKey(rows[rows.length - 1]) : 0;
  const noteOf = (row) => [
    timeKey(row) === longest ? 'the slowest' : `${numberText(longest / timeKey(row), 3)} times as fast as the slowest`,
    row.limiter ? resourceNames[row.limiter] || row.limiter : undefined,
    gradeTexts[row.evidence?.grade],
  ].filter(Boolean).join('; ');
  return [
    rows.length ? barsOf('Time', rows.map((row) => ({name: catalogue.title(row.gpu), value: timeKey(row), low: row.time_low_us && timeKey(row) - row.time_us + row.time_low_us, high: row.time_high_us && timeKey(row) - row.time_us + row.time_high_us, text: timeOf(timeKey(row)), note: noteOf(row)})), {lineText: 'whiskers: the 80 % band'}) : '',
    ...others.map((row) => problem(`${catalogue.title(row.gpu)}: ${row.error || row.not_modelled || 'not modelled'}`)),
  ];
};

const gradeTexts = {measured: 'measured kernels', related: 'from a related GPU', distant: 'from another architecture', datasheet: 'from the data sheet'};

// Every chip that answers, by the year in which it was announced.
const overTheYears = (found, years, chosen) => {
  const rows = found.filter((row) => timeKey(row) && years.has(row.gpu));
  if (!rows.length) return [problem('No chip with a known year can answer this.')];
  const scale = times.find(([, size]) => Math.min(...rows.map(timeKey)) >= size) || times[times.length - 1];
  const kinds = [['chosen above', 'vermillion', 'square', (row) => chosen.includes(row.gpu)], ['other chips', 'blue', 'circle', () => true]];
  const items = rows.map((row) => ({kind: 'predicted', name: catalogue.title(row.gpu), series: '', level: '', terms: [
    ['announced', years.get(row.gpu)], ['time', timeOf(timeKey(row))], ['80 % band', row.time_low_us ? `${timeOf(row.time_low_us)} to ${timeOf(row.time_high_us)}` : 'unknown'],
    ['rests on', gradeTexts[row.evidence?.grade] || 'the model']]}));
  const marks = rows.map((row, item) => {
    const [series, color, marker] = kinds.find(([, , , holds]) => holds(row));
    const own = row.evidence?.grade === 'measured';
    return {item, name: row.gpu, n: 0, series, level: '', origin: own ? 'calibrated' : 'predicted', x: yearOf(years.get(row.gpu)), y: timeKey(row) / scale[1], r: series === 'other chips' ? 4 : 5,
      labelled: true, color, dash: 'solid', marker, width: 1.5};
  });
  const legend = (name, color, marker) => ({name, detail: '', line: false, origin: 'measured', color, dash: 'solid', marker, width: 1.5});
  const chart = {
    title: 'The same on every chip, by the year it was announced', subtitle: 'pale fill: from kernels measured on that GPU; hollow: carried over or from data sheets',
    description: `Time (${scale[0]}) against the year announced: ${rows.length} chips.`,
    x: {title: 'Year announced', unit: '', log: false, range: [Math.min(...marks.map((mark) => mark.x)) - 0.5, Math.max(...marks.map((mark) => mark.x)) + 0.9], names: [], doubling: null},
    y: {title: 'Time', unit: scale[0], log: true, range: roundedRange(marks.map((mark) => mark.y)), names: [], doubling: null},
    bands: [], marks, curves: [], links: [], annotations: [], samples: [], legend: kinds.map(([name, color, marker]) => legend(name, color, marker)),
    notes: rows.length < years.size ? [`${years.size - rows.length} chips do not answer: ${[...years.keys()].filter((gpu) => !rows.some((row) => row.gpu === gpu)).join(', ')}.`] : [],
  };
  const figure = el('figure');
  requestAnimationFrame(() => new ChartView(chart, items, figure));
  return [figure];
};
// From 1, 2 or 5 times a power of ten to another, with all values between.
const roundedRange = (values) => {
  const steps = Array.from({length: 60}, (_, i) => [1, 2, 5][i % 3] * 10 ** (Math.floor(i / 3) - 10));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return [steps.filter((step) => step < least * 0.95).pop(), steps.find((step) => step > most * 1.05)];
};
const yearOf = (text) => Number(text.slice(0, 4)) + ((Number(text.slice(5, 7)) || 6) - 0.5) / 12;

// Chosen GPUs as buttons that remove them, and a list that adds one.
const chipsControl = (state, change) => {
  const gpus = state.gpus.split(',').filter(Boolean);
  const set = (list) => change({gpus: list.join(',')}, {rebuild: true});
  return el('div', {className: 'control'}, el('span', {className: 'label'}, 'GPUs'),
    el('div', {className: 'chips'}, gpus.map((gpu) => button(`${catalogue.title(gpu)} ×`, () => set(gpus.filter((each) => each !== gpu)), {ariaLabel: `Remove ${catalogue.title(gpu)}`}))),
    choice('Add a GPU', '', [['', 'choose …'], ...catalogue.gpus.filter((gpu) => !gpus.includes(gpu.name)).map((gpu) => [gpu.name, gpu.title])], (gpu) => gpu && set([...gpus, gpu])));
};
