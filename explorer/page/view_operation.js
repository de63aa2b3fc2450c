// Operation: every field of one operation, its terms, what would help, what it holds in memory.

views.operation = {
  title: 'Operation',
  lead: 'How long one operation takes, what limits it, and what would make it faster.',
  defaults: {gpu: 'h100-sxm', op: 'matmul'},

  build(root, state, change) {
    const operation = catalogue.operation(state.op);
    for (const [name, value] of Object.entries(startOf(operation))) state[name] ??= value;
    const answer = el('div');
    const commands = el('div');
    root.append(el('div', {className: 'split'},
      el('div', {className: 'controls', role: 'group', ariaLabel: 'Question'},
        gpuChoice('GPU', state.gpu, (gpu) => change({gpu})),
        choice('Operation', operation.op, catalogue.operations.map((each) => each.op), (op) => change({op, ...cleared(operation, state)}, {rebuild: true})),
        el('p', {className: 'hint'}, operation.help),
        fieldControls(operation, state, (values) => change(values))),
      el('div', {className: 'answer'}, answer, commands)));
    return () => {
      const words = ['predict', operation.op, ...fieldWords(operation, state), '--gpu', state.gpu];
      fill(answer, () => {
        const found = engine.json(words);
        const nodes = found.error ? [problem(found.error)] : [timesOf(found), termsOf(found), helpOf(found), notesOf(found)];
        return [...nodes, memoryOf(operation, state), inWords(words)];
      });
      commands.replaceChildren(commandsNode(words));
    };
  },
};

const timesOf = (found) => figuresOf([
  ['time', timeOf(found.time_us)],
  ['80 % band', `${timeOf(found.time_low_us)} to ${timeOf(found.time_high_us)}`],
  ['no run is faster than', found.lower_bound_us ? timeOf(found.lower_bound_us) : undefined],
  ['limited by', limiterText(found)],
  ['arithmetic', found.flop ? `${rateOf(found.flop / (found.time_us * 1e-6), 'FLOP/s')} of ${rateOf(found.peak_flop_per_s, 'FLOP/s')}` : undefined],
  ['device memory', found.dram_bytes ? `${rateOf(found.dram_bytes / (found.time_us * 1e-6), 'B/s')} of ${rateOf(found.bandwidth_bytes_per_s, 'B/s')}` : undefined],
  ['kernels', found.kernels ? String(found.kernels) : undefined],
  ['power, repeated', found.power_w ? `${numberText(found.power_w, 3)} W` : undefined],
  ['energy of a run', found.energy_j ? scaledText(found.energy_j, [['J', 1], ['mJ', 1e-3], ['µJ', 1e-6]]) : undefined],
]);

const resourceNames = {
  tensor: 'tensor cores', vector: 'vector units', special: 'special functions', dram: 'device memory', l2: 'L2 cache', store: 'writing the result',
  latency: 'latency', launch: 'launch', issue: 'issuing instructions', load_store: 'load and store units', shared: 'shared memory', link: 'link between GPUs',
};
const amountOf = (term) =>
  term.flop ? `${countOf(term.flop)} FLOP at ${rateOf(term.flop_per_s, 'FLOP/s')}` : term.bytes ? `${trafficOf(term.bytes)} at ${rateOf(term.bytes_per_s, 'B/s')}` : '';

// Resources work at the same time, so the bars overlap instead of adding up.
const termsOf = (found) => barsOf('Where the time goes',
  found.terms.map((term) => ({name: resourceNames[term.resource] || term.resource, value: term.time_us, text: timeOf(term.time_us), note: amountOf(term), lit: term.resource === found.limiter})),
  {line: found.time_us, lineText: `the line is the whole time, ${timeOf(found.time_us)}; resources work side by side`});

const helpOf = (found) => {
  if (!found.advice?.length) return el('p', {className: 'hint'}, 'No single change that ridge knows makes this faster.');
  return barsOf('What would help', found.advice.map((each) => ({name: each.change, value: each.time_us, text: timeOf(each.time_us), note: `${numberText(each.speed_up, 3)} times as fast`})),
    {line: found.time_us, lineText: `the line is the time now, ${timeOf(found.time_us)}`});
};

const notesOf = (found) => found.notes?.length ? el('ul', {className: 'notes'}, found.notes.map((note) => el('li', {}, note))) : '';

const inWords = (words) => {
  const box = el('pre', {tabIndex: 0});
  const more = el('details', {ontoggle: () => {
    if (more.open && !box.textContent) box.textContent = engine.ask([...words, '--explain']).output;
  }}, el('summary', {}, 'Every term in words'), box);
  return more;
};

// What the operation holds, while a training step runs it if it has a backward pass.
const memoryOf = (operation, state) => {
  const fields = operation.op === 'attention' ? fieldWords(operation, {...state, l2: '', launch: '', tile: ''}) : fieldWords(operation, state);
  let found;
  try {
    found = engine.json(['vram', operation.op, ...fields, '--gpu', state.gpu]);
  } catch {
    return '';
  }
  const parts = found.parts || heldAtPeak(found);
  const text = `${bytesOf(found.total_bytes)} of ${bytesOf(found.usable_bytes)} usable`;
  if (found.allocations?.length) return [barsOf(`Memory at its peak: ${text}`, parts.map(partBar)), timelineOf(found)];
  return barsOf(`Memory: ${text}`, parts.map(partBar));
};
const partBar = (part) => ({name: part.name, value: part.bytes ?? part.allocated_bytes, text: bytesOf(part.bytes ?? part.allocated_bytes), note: part.phase});

const phasesInOrder = ['inputs', 'inference', 'forward', 'backward'];
const orderOf = (phase, step) => phasesInOrder.indexOf(phase) * 1000 + step;
const aliveAt = (each, at) => orderOf(each.phase, each.taken) <= at && (each.given === null || orderOf(each.given_phase || each.phase, each.given) > at);
const heldAtPeak = (found) => (found.allocations || []).filter((each) => aliveAt(each, orderOf(found.peak.phase, found.peak.step))).slice(0, 12);

// The allocations of a call over its steps: each is a bar from where it is taken to where it is given back.
const timelineOf = (found) => {
  const moments = [...new Set(found.allocations.flatMap((each) => [orderOf(each.phase, each.taken), ...(each.given === null ? [] : [orderOf(each.given_phase || each.phase, each.given)])]))].sort((a, b) => a - b);
  const place = (at) => (100 * moments.indexOf(at)) / moments.length;
  const most = Math.max(...found.allocations.map((each) => each.allocated_bytes));
  const shown = found.allocations.filter((each) => each.allocated_bytes > most / 1000).slice(0, 24);
  return el('table', {className: 'bars timeline'}, el('caption', {}, 'When each tensor is held, step by step'),
    el('tbody', {}, shown.map((each) => {
      const from = place(orderOf(each.phase, each.taken));
      const to = each.given === null ? 100 : place(orderOf(each.given_phase || each.phase, each.given));
      const bar = el('div', {className: 'fill'});
      bar.style.marginLeft = `${from}%`;
      bar.style.width = `${Math.max(to - from, 1)}%`;
      return el('tr', {}, el('th', {scope: 'row'}, each.name), el('td', {className: 'track'}, bar), el('td', {className: 'number'}, bytesOf(each.allocated_bytes)), el('td', {className: 'note'}, each.phase));
    })));
};
