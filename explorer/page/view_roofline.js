// Roofline: one or two GPUs, an operation whose sizes move, measured points dropped in.

views.roofline = {
  title: 'Roofline',
  lead: 'Where an operation stands under the limits of a GPU. Move a size and watch the point climb; hover or use the arrow keys on the chart for its terms.',
  defaults: {gpu: 'h100-sxm', other: '', op: 'matmul', levels: 'dram', more: ''},

  build(root, state, change) {
    const operation = catalogue.operation(state.op);
    for (const [name, value] of Object.entries(startOf(operation))) state[name] ??= value;
    const charts = el('div', {className: 'charts pair'});
    const words = el('div', {className: 'answers', role: 'status'});
    const commands = el('div');
    root.append(
      el('div', {className: 'split'},
        el('div', {className: 'controls', role: 'group', ariaLabel: 'Question'},
          gpuChoice('GPU', state.gpu, (gpu) => change({gpu})),
          gpuChoice('Beside it', state.other, (other) => change({other}), 'no other GPU'),
          choice('Operation', operation.op, catalogue.operations.map((each) => each.op), (op) => change({op, ...cleared(operation, state)}, {rebuild: true})),
          fieldControls(operation, state, (values) => change(values)),
          choice('Memory levels', state.levels, [['dram', 'device memory'], ['all', 'device memory and L2']], (levels) => change({levels})),
          textBox('More operations', state.more, (more) => change({more}), {placeholder: 'softmax rows=8192 cols=4096; …', help: 'in words, separated by semicolons'}),
          fileButton('Measured points', 'CSV of times or records', (name) => {
            if (!measuredFiles.includes(name)) measuredFiles.push(name);
            change({}, {rebuild: true});
          }),
          el('div', {className: 'chips'}, measuredFiles.map((name) => button(`${name} ×`, () => {
            measuredFiles.splice(measuredFiles.indexOf(name), 1);
            change({}, {rebuild: true});
          }, {ariaLabel: `Remove ${name}`})))),
        el('div', {className: 'answer'}, words, charts, commands)));
    const shown = new Map();
    return () => {
      const gpus = [state.gpu, state.other].filter(Boolean);
      const question = operationText(operation, state);
      const options = (gpu) => ['roofline', '--gpu', gpu, '--op', question, ...extraOperations(state.more), '--levels', state.levels, ...measuredFiles.flatMap((file) => ['--records', file])];
      fill(words, () => gpus.map((gpu) => standing(gpu, operation, state)));
      drawCharts(charts, shown, gpus, (gpu) => engine.file(options(gpu), '/roofline.json'));
      commands.replaceChildren(commandsNode(options(state.gpu)));
    };
  },
};

const measuredFiles = [];

const cleared = (operation, state) => Object.fromEntries(operation.fields.filter((field) => field.field !== 'dtype' && field.field in state).map((field) => [field.field, undefined]));

const extraOperations = (text) => text.split(';').map((each) => each.trim()).filter(Boolean).flatMap((each) => ['--op', each]);

// One sentence: how long, what limits, how far from the roof.
const standing = (gpu, operation, state) => {
  const answer = engine.json(['predict', operation.op, ...fieldWords(operation, state), '--gpu', gpu]);
  if (answer.error) return el('p', {}, el('strong', {}, catalogue.title(gpu)), ': ', answer.error);
  const best = answer.lower_bound_us / answer.time_us;
  const parts = [`${timeOf(answer.time_us)}, limited by ${limiterText(answer)}; `, best ? `no run can take less than ${timeOf(answer.lower_bound_us)} (${percentOf(best)} of this time).` : ''];
  return el('p', {}, el('strong', {}, catalogue.title(gpu)), ': ', ...parts);
};

const limiterText = (answer) => ({tensor: 'the tensor cores', vector: 'the vector units', dram: 'device memory', l2: 'the L2 cache', latency: 'latency', launch: 'the launch', store: 'writing the result', special: 'the special functions'}[answer.limiter] || answer.limiter || answer.bound);

// Charts stay in place from draw to draw, so that a zoom or a switched-off series lasts.
const drawCharts = (holder, shown, keys, dataOf) => {
  for (const key of [...shown.keys()]) {
    if (keys.includes(key)) continue;
    shown.get(key).figure.remove();
    shown.delete(key);
  }
  for (const key of keys) {
    let data;
    try {
      data = JSON.parse(dataOf(key));
    } catch (error) {
      shown.get(key)?.figure.remove();
      shown.delete(key);
      holder.append(Object.assign(problem(error.message), {className: 'problem of-chart'}));
      continue;
    }
    for (const node of holder.querySelectorAll('.of-chart')) node.remove();
    const chart = {...data.charts[0], id: key};
    const view = shown.get(key);
    if (view && sameLegend(view.data, chart)) {
      view.renew(chart, data.items);
    } else {
      const figure = view?.figure || holder.appendChild(el('figure'));
      shown.set(key, new ChartView(chart, data.items, figure));
    }
  }
};

const sameLegend = (a, b) => {
  const names = (chart) => JSON.stringify([chart.title, chart.subtitle, chart.notes, chart.legend.map((entry) => entry.name), chart.samples.map((entry) => entry.name)]);
  return names(a) === names(b);
};

// Writes a chosen or dropped file, unpacked, into the module's file system.
const keepFile = async (file) => {
  const bytes = await unpacked(new Uint8Array(await file.arrayBuffer()));
  const name = file.name.replace(/[^\w.-]+/g, '-').replace(/\.gz$/, '');
  engine.write(name, bytes);
  return name;
};

const fileButton = (label, help, take) => {
  const input = el('input', {type: 'file', id: freshId(), multiple: true, onchange: async () => {
    for (const file of input.files) take(await keepFile(file), file);
  }});
  return labelled(label, input, help);
};
