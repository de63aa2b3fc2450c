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
      // One question for each GPU: the sentence is read off the point that the chart draws.
      const said = new Map();
      drawCharts(charts, shown, gpus, (gpu) => engine.file(options(gpu), 'roofline.json'), (gpu, data) => said.set(gpu, standing(gpu, data)));
      fill(words, () => gpus.map((gpu) => said.get(gpu) || ''));
      commands.replaceChildren(commandsNode(options(state.gpu)));
    };
  },
};

const measuredFiles = [];

const cleared = (operation, state) => Object.fromEntries(operation.fields.filter((field) => field.field !== 'dtype' && field.field in state).map((field) => [field.field, undefined]));

const extraOperations = (text) => text.split(';').map((each) => each.trim()).filter(Boolean).flatMap((each) => ['--op', each]);

// One sentence about the first point: how long, what limits, how far from the roof.
const standing = (gpu, data) => {
  const point = data.items.find((item) => item.kind === 'predicted');
  if (!point) return problem(`${catalogue.title(gpu)}: ${data.charts[0].notes.join('; ') || 'this operation has no FLOP to draw'}`);
  const terms = new Map(point.terms);
  const mark = data.charts[0].marks.find((each) => data.items[each.item] === point);
  const roof = terms.get('attainable time');
  const share = mark && roofAt(data.charts[0], mark.x) ? ` (${percentOf(mark.y / roofAt(data.charts[0], mark.x))} of this time)` : '';
  return el('p', {}, el('strong', {}, catalogue.title(gpu)), `: ${microseconds(terms.get('predicted time'))}, limited by ${limiterText({limiter: terms.get('limiter'), bound: terms.get('bound')})}; `,
    roof ? `under this roof no run takes less than ${microseconds(roof)}${share}.` : '', evidenceMark(terms.get('evidence')));
};
const microseconds = (text) => text.replace(/\bus\b/, 'µs');

// The attainable rate at an intensity, from the drawn envelope.
const roofAt = (chart, x) => {
  const line = chart.curves.find((curve) => curve.role === 'envelope')?.xy || [];
  const at = line.findIndex(([right]) => right >= x);
  if (at < 1) return undefined;
  const [[x0, y0], [x1, y1]] = [line[at - 1], line[at]];
  return y0 * (y1 / y0) ** (Math.log(x / x0) / Math.log(x1 / x0));
};

// What an answer rests on, where it is not the best.
const evidenceTexts = {related: 'carried over from a related GPU or software', distant: 'carried over from far away: a wide band', datasheet: 'from the data sheet alone: a wide band'};
const evidenceMark = (evidence) => {
  const [kind] = (evidence || '').split(/[ ,:(]/);
  return evidenceTexts[kind] ? el('span', {className: 'evidence', title: evidence}, ` ${evidenceTexts[kind]}`) : '';
};

const limiterText = (answer) => ({tensor: 'the tensor cores', vector: 'the vector units', dram: 'device memory', l2: 'the L2 cache', latency: 'latency', launch: 'the launch', store: 'writing the result', special: 'the special functions'}[answer.limiter] || answer.limiter || answer.bound);

// Charts stay in place from draw to draw, so that a zoom or a switched-off series lasts.
const drawCharts = (holder, shown, keys, dataOf, drawn = () => {}) => {
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
    drawn(key, data);
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

// Puts a chosen file, unpacked, into the module's file system, and lets the worker read it.
const keepFile = async (file) => {
  const name = file.name.replace(/[^\w.-]+/g, '-').replace(/\.gz$/, '');
  await engine.keep(name, file, {here: true});
  return name;
};

const fileButton = (label, help, take) => {
  const input = el('input', {type: 'file', id: freshId(), multiple: true, onchange: async () => {
    for (const file of input.files) take(await keepFile(file), file);
  }});
  return labelled(label, input, help);
};
