// Compare: one operation or one model on several GPUs, or all chips over the years.

views.compare = {
  title: 'Compare',
  lead: 'The same question to several GPUs, or every chip over the years.',
  defaults: {what: 'operation', gpus: 'a100-sxm-80gb,h100-sxm,h200-sxm,b200', op: 'matmul', model: 'llama-3.1-8b', phase: 'decode', sequences: '16', tokens: '2048', software: 'serving'},

  build(root, state, change) {
    const operation = catalogue.operation(state.op);
    if (state.what === 'operation') for (const [name, value] of Object.entries(startOf(operation))) state[name] ??= value;
    const answer = el('div', {className: 'answer'});
    const questions = [choice('What', state.what, [['operation', 'an operation'], ['model', 'a model'], ['years', 'chips over the years']], (what) => change({what}, {rebuild: true}))];
    if (state.what !== 'years') questions.push(chipsControl(state, change));
    if (state.what === 'operation') {
      questions.push(choice('Operation', operation.op, catalogue.operations.map((each) => each.op), (op) => change({op, ...cleared(operation, state)}, {rebuild: true})), ...fieldControls(operation, state, (values) => change(values)));
    }
    if (state.what === 'model') {
      questions.push(choice('Model', state.model, catalogue.presets, (model) => change({model})), choice('Phase', state.phase, ['prefill', 'decode', 'train'], (phase) => change({phase})),
        slider('sequences', state.sequences, {high: 1024, change: (sequences) => change({sequences})}), slider('tokens', state.tokens, {high: 2 ** 17, change: (tokens) => change({tokens})}),
        choice('Software', state.software, ['transformers', 'compiled', 'serving'], (software) => change({software})));
    }
    root.append(el('div', {className: 'split'}, el('div', {className: 'controls', role: 'group', ariaLabel: 'Question'}, questions), answer));
    return () => {
      if (state.what === 'years') {
        const words = ['effect', 'scaling'];
        fill(answer, () => [pageNodes(engine.file(words, '/scaling.html')), commandsNode(words)]);
        return;
      }
      const gpus = state.gpus.split(',').filter(Boolean);
      const questionOf = (gpu) => (state.what === 'model' ? modelWords({...state, gpu, batch: state.sequences, seq: state.tokens}) : ['predict', operation.op, ...fieldWords(operation, state), '--gpu', gpu]);
      const together = state.what === 'model' ? ['compare', 'model', ...modelWords({...state, gpu: state.gpus, batch: state.sequences, seq: state.tokens}).slice(1)] : ['compare', operation.op, ...fieldWords(operation, state), '--gpu', state.gpus];
      fill(answer, () => {
        const found = gpus.map((gpu) => [gpu, asked(questionOf(gpu))]);
        const rows = found.filter(([, each]) => each.time_us).sort((a, b) => a[1].time_us - b[1].time_us);
        const others = found.filter(([, each]) => !each.time_us);
        const longest = rows.length ? rows[rows.length - 1][1].time_us : 0;
        return [
          rows.length ? barsOf('Time', rows.map(([gpu, each]) => ({name: catalogue.title(gpu), value: each.time_us, text: timeOf(each.time_us), note: `${each.time_us === longest ? 'the slowest' : `${numberText(longest / each.time_us, 3)} times as fast as the slowest`}${each.limiter ? `; ${resourceNames[each.limiter] || each.limiter}` : ''}`}))) : '',
          ...others.map(([gpu, each]) => problem(`${catalogue.title(gpu)}: ${each.error}`)),
          commandsNode(together),
        ];
      });
    };
  },
};

const asked = (words) => {
  try {
    return engine.json(words);
  } catch (error) {
    return {error: error.message};
  }
};

// Chosen GPUs as buttons that remove them, and a list that adds one.
const chipsControl = (state, change) => {
  const gpus = state.gpus.split(',').filter(Boolean);
  const set = (list) => change({gpus: list.join(',')}, {rebuild: true});
  return el('div', {className: 'control'}, el('span', {className: 'label'}, 'GPUs'),
    el('div', {className: 'chips'}, gpus.map((gpu) => button(`${catalogue.title(gpu)} ×`, () => set(gpus.filter((each) => each !== gpu)), {ariaLabel: `Remove ${catalogue.title(gpu)}`}))),
    choice('Add a GPU', '', [['', 'choose …'], ...catalogue.gpus.filter((gpu) => !gpus.includes(gpu.name)).map((gpu) => [gpu.name, gpu.title])], (gpu) => gpu && set([...gpus, gpu])));
};
