// What the program knows, asked once: GPUs, operations with their fields, presets of models.

const catalogue = {
  get gpus() {
    return this.gpus_ ||= engine.json(['gpus']);
  },
  get operations() {
    return this.operations_ ||= engine.json(['ops']);
  },
  get presets() {
    return this.presets_ ||= engine.ask(['model', '--list']).output.trim().split('\n');
  },
  // GPU -> "2022-03", when it was announced
  get years() {
    return this.years_ ||= new Map(engine.json(['gpus', 'timeline']).map((gpu) => [gpu.name, gpu.announced]));
  },
  operation(name) {
    return this.operations.find((each) => each.op === name) || this.operations[0];
  },
  title(gpu) {
    return this.gpus.find((each) => each.name === gpu)?.title || gpu;
  },
};

const hasCommand = (name) => engine.ask([name, '--help']).code === 0;

const gpuChoice = (label, value, change, none) =>
  choice(label, value, [...(none ? [['', none]] : []), ...catalogue.gpus.map((gpu) => [gpu.name, gpu.title])], change);

const elementTypes = ['bf16', 'fp16', 'fp8', 'tf32', 'fp32', 'fp64', 'int8'];

// Values with which an operation starts, so that a form is never empty.
const usualSizes = {
  m: 4096, n: 4096, k: 4096, heads: 32, head_dim: 128, seq: 4096, tokens: 4096, hidden: 4096, intermediate: 1536, topk: 8, experts: 128,
  elements: 16777216, rows: 8192, cols: 4096, table_rows: 131072, inputs: 2, bytes: 268435456,
};
const usualWords = {expr: 'gelu(x + bias)', pattern: 'stride'};
const startOf = (operation) => {
  const values = {};
  for (const field of operation.fields) {
    const asked = field.required || (field.field === 'seq' && field.kind === 'count');
    if (asked) values[field.field] = String(usualSizes[field.field] ?? usualWords[field.field] ?? field.words?.[0] ?? 1);
  }
  return values;
};

// The values of a state that are fields of the operation, as options of a command.
const fieldWords = (operation, state) => operation.fields.flatMap((field) => {
  const value = state[field.field];
  const option = '--' + field.field.replace(/_/g, '-');
  if (value === undefined || value === '') return [];
  if (field.kind === 'flag') return value === 'yes' ? [option] : [];
  return [option, value];
});

// The same as an operation in words: "matmul m=4096 n=4096 k=4096".
const operationText = (operation, state) => [operation.op, ...operation.fields.flatMap((field) => {
  const value = state[field.field];
  if (value === undefined || value === '') return [];
  if (field.kind === 'flag') return value === 'yes' ? [field.field] : [];
  return [`${field.field}=${/\s/.test(value) ? `"${value}"` : value}`];
})].join(' ');

// Controls for the fields: required counts are sliders, the rest is folded away.
const fieldControls = (operation, state, change) => {
  const of = (field) => {
    const name = field.field.replace(/_/g, ' ');
    const set = (value) => change({[field.field]: value});
    const value = state[field.field] ?? '';
    const help = field.help + (field.default ? `; default: ${field.default}` : '');
    if (field.kind === 'flag') return tick(name, value === 'yes', (on) => set(on ? 'yes' : ''), help);
    if (field.words?.length) return choice(name, value, [...(field.required ? [] : [['', `default${field.default ? ` (${field.default})` : ''}`]]), ...field.words], set, help);
    if (field.kind === 'count' && value !== '') return slider(name, value, {high: field.field === 'elements' || field.field === 'bytes' ? 2 ** 34 : 2 ** 20, change: set, help});
    return textBox(name, value, set, {help, placeholder: field.default || ''});
  };
  const asked = operation.fields.filter((field) => field.required || ['seq', 'dtype'].includes(field.field));
  const more = operation.fields.filter((field) => !asked.includes(field));
  const isSet = more.some((field) => state[field.field]);
  return [...asked.map(of), more.length ? el('details', {className: 'more-fields', open: isSet}, el('summary', {}, 'More fields'), el('div', {className: 'controls'}, more.map(of))) : ''];
};
