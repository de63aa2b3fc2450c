// Model: a preset or a config of one's own; a step, serving, its users under a load, and the plan for several GPUs.

views.model = {
  title: 'Model',
  lead: 'A whole language model: how long a step takes, how many tokens a second, and on how many GPUs.',
  defaults: {gpu: 'h100-sxm', model: 'llama-3.1-8b', phase: 'decode', batch: '16', seq: '2048', software: 'serving', dtype: 'bf16', quantise: 'none', tp: '1', show: 'step', answer: '256', engine: 'vllm', rate: ''},

  build(root, state, change) {
    state.software = softwareOf(state.phase, state.software);
    const answer = el('div');
    const rest = el('div');
    const commands = el('div');
    const models = [...catalogue.presets, ...ownConfigs];
    // The plan searches batch and layout, serving the batch; what they search has no control.
    const [step, plan, load] = ['step', 'plan', 'load'].map((each) => state.show === each);
    root.append(el('div', {className: 'split'},
      el('div', {className: 'controls', role: 'group', ariaLabel: 'Question'},
        choice('Question', state.show, [['step', 'a step: how long, and on what'], ['serving', 'serving: speed against throughput'], ['load', 'a load: what its users see'], ['plan', 'plan: how many GPUs, and which layout']], (show) => change({show, ...(['serving', 'load'].includes(show) ? {phase: 'decode'} : {})}, {rebuild: true})),
        choice('Model', state.model, models, (model) => change({model})),
        fileButton('Own config.json', 'Hugging Face config of a model', (name) => {
          if (!ownConfigs.includes(name)) ownConfigs.push(name);
          change({model: name}, {rebuild: true});
        }),
        gpuChoice('GPU', state.gpu, (gpu) => change({gpu})),
        step ? choice('Phase', state.phase, ['prefill', 'decode', 'train'], (phase) => change({phase}, {rebuild: true})) : '',
        plan ? choice('For', state.phase === 'train' ? 'train' : 'decode', [['decode', 'serving'], ['train', 'training']], (phase) => change({phase}, {rebuild: true})) : '',
        step ? slider('sequences', state.batch, {high: 1024, change: (batch) => change({batch})}) : '',
        slider(step ? 'tokens' : 'tokens of a prompt', state.seq, {high: 2 ** 17, change: (seq) => change({seq})}),
        load ? slider('tokens of an answer', state.answer, {high: 2 ** 14, change: (answer) => change({answer})}) : '',
        load ? textBox('Requests a second', state.rate, (rate) => change({rate}), {placeholder: '1 to 256 at a time', help: 'one or several, 2,5,10; without one, requests at a time from 1 to 256'}) : '',
        load ? choice('Engine', state.engine, ['vllm', 'sglang', 'trtllm'], (engine) => change({engine})) : softwareChoice(state.phase, state.software, (software) => change({software})),
        state.phase === 'train' ? '' : choice('Weights', state.quantise, ['none', 'fp8', 'int8', 'int4', 'nvfp4'], (quantise) => change({quantise})),
        plan ? '' : choice('GPUs that share each product', state.tp, ['1', '2', '4', '8'], (tp) => change({tp}))),
      el('div', {className: 'answer'}, answer, rest, commands)));
    const work = workIn(rest, {stay: true});
    let waiting;
    return () => {
      if (step) fill(answer, () => stepAnswer(engine.json(modelWords(state))));
      rest.classList.add('stale');
      clearTimeout(waiting);
      const further = furtherWords(state);
      // Charts follow when the hand rests; the numbers above follow every move.
      waiting = setTimeout(() => work.run(async (ask) => pageOrProblem(await ask([...further, '-o', `${further[0]}.html`]))), rest.childElementCount ? 250 : 30);
      commands.replaceChildren(commandsNode(further));
    };
  },
};

// A serving engine does not train.
const softwareOf = (phase, software) => (phase === 'train' && software === 'serving' ? 'transformers' : software);
const softwareChoice = (phase, software, change) => choice('Software', software, ['transformers', 'compiled', ...(phase === 'train' ? [] : ['serving'])], change);

const ownConfigs = [];

const furtherWords = (state) => {
  if (state.show === 'load') {
    return ['serve', state.model, '--prompt', state.seq, '--answer', state.answer, ...(state.rate ? ['--rate', state.rate] : []), '--software', state.engine, '--gpu', state.gpu, ...(state.tp === '1' ? [] : ['--tp', state.tp]), ...(state.quantise === 'none' ? [] : ['--quantise', state.quantise])];
  }
  if (state.show === 'serving') {
    return ['model', state.model, '--serve', '--seq', state.seq, '--software', state.software, '--gpu', state.gpu, ...(state.tp === '1' ? [] : ['--tp', state.tp]), ...(state.quantise === 'none' ? [] : ['--quantise', state.quantise])];
  }
  if (state.show === 'plan') return ['plan', state.model, ...(state.phase === 'train' ? ['--train', ...(state.software === 'transformers' ? [] : ['--software', state.software])] : ['--software', state.software, ...(state.quantise === 'none' ? [] : ['--quantise', state.quantise])]), '--seq', state.seq, '--gpu', state.gpu];
  return modelWords(state);
};

const stepAnswer = (found) => {
  const byName = new Map();
  for (const each of found.operations || []) {
    const known = byName.get(each.name) || {name: each.name, value: 0, limits: new Map()};
    const time = each.time_us || 0;
    known.value += time;
    known.limits.set(each.limiter, (known.limits.get(each.limiter) || 0) + time);
    byName.set(each.name, known);
  }
  const rows = [...byName.values()].sort((a, b) => b.value - a.value).slice(0, 12);
  const whole = rows.reduce((sum, row) => sum + row.value, 0);
  const main = (limits) => [...limits].sort((a, b) => b[1] - a[1])[0]?.[0] || '';
  const peak = Object.values(found.peak_parts_bytes || {}).reduce((sum, bytes) => sum + bytes, 0);
  const reasons = (found.not_modelled_reasons || []).map((each) => each.reason).join('; ');
  return [
    found.wall_us ? '' : problem(`No time is known: ${reasons}.${found.at_least_us ? ` What is known takes at least ${timeOf(found.at_least_us)}.` : ''}`),
    figuresOf([
      ['a step', found.wall_us ? timeOf(found.wall_us) : undefined],
      ['of it on the GPU', found.time_us ? `${timeOf(found.time_us)}${found.host_bound ? ' (the host is slower)' : ''}` : undefined],
      ['tokens a second', found.tokens_per_s ? numberText(found.tokens_per_s, 4) : undefined],
      ['of peak arithmetic', found.mfu ? percentOf(found.mfu) : undefined],
      ['of memory bandwidth', found.mbu ? percentOf(found.mbu) : undefined],
      ['memory at the peak', peak ? `${bytesOf(peak)} of ${bytesOf(found.usable_bytes)}${peak > found.usable_bytes ? ': does not fit' : ''}` : undefined],
      ['parameters', countOf(found.parameters)],
    ]),
    barsOf(`Where a step of ${numberText(found.kernels, 6)} kernels spends its time on the GPU`,
      rows.map((row) => ({name: row.name, value: row.value, text: timeOf(row.value), note: `${percentOf(row.value / whole)}, ${resourceNames[main(row.limits)] || main(row.limits)}`}))),
  ];
};
