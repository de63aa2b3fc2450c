// Asks the explorer's module and the native program the same random questions: exit codes and messages are equal,
// numbers in JSON within 1e-12, all other output character by character.
// Usage: node compare_answers.js RIDGE.js RIDGE.wasm ANSWER_QUESTIONS ROOT [COUNT [SEED]]
'use strict';

const {spawnSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const zlib = require('zlib');

const [glue, wasm, native, root, count = '1500', seed = '42'] = process.argv.slice(2);

// mulberry32
let state = Number(seed);
const random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const below = (limit) => Math.floor(random() * limit);
const pick = (list) => list[below(list.length)];
const chance = (share) => random() < share;

const moduleOf = async () => {
  const module = await require(path.resolve(glue))({wasmBinary: fs.readFileSync(wasm)});
  const text = (from, size) => Buffer.from(module.HEAPU8.subarray(from, from + size)).toString();
  const ask = (words) => {
    const call = Buffer.from(words.join('\0'));
    const at = module._malloc(call.length + 1);
    module.HEAPU8.set(call, at);
    const code = module._ridge_run(at, call.length);
    module._free(at);
    return {code, output: text(module._ridge_output(), module._ridge_output_size()), messages: text(module._ridge_messages(), module._ridge_messages_size())};
  };
  return {module, ask};
};

const sizes = {
  heads: [1, 8, 32, 64, 128], head_dim: [32, 64, 96, 128, 256], batch: [1, 2, 16, 100], kv_heads: [1, 8], topk: [1, 2, 8], experts: [8, 64, 256],
  gpus: [2, 4, 8], tp: [1, 2], ep: [1, 2], stride: [1, 2, 8, 32, 64], paths: [1, 2, 4], ways: [1, 2, 32], offset: [0, 1, 16], inputs: [2, 3], window: [128, 4096], inner: [1, 4],
};
const expressions = ['gelu(x + bias)', 'x * y + z', 'silu(x) * y', 'exp(-x*x)', 'where(x > 0, x, 0.1*x)', 'x ** 3', 'x +', 'erf(x) / (1 + y)'];
const countOf = (field) => (sizes[field] ? pick(sizes[field]) : chance(0.3) ? 1 + below(50000) : 2 ** below(16));
const valueOf = (field) => {
  if (field.field === 'expr') return pick(expressions);
  if (field.field === 'dtype') return pick(['bf16', 'fp16', 'fp32', 'fp8', 'tf32', 'fp64', 'int8']);
  if (field.words?.length) return pick(field.words);
  if (field.kind === 'count') return ['elements', 'bytes'].includes(field.field) ? 2 ** (10 + below(20)) : countOf(field.field);
  return undefined;
};
const fieldWords = (operation) => operation.fields.flatMap((field) => {
  const asked = field.required || field.field === 'seq' || chance(0.2);
  if (!asked || chance(0.01)) return [];
  const option = '--' + field.field.replace(/_/g, '-');
  if (field.kind === 'flag') return [option];
  const value = valueOf(field);
  return value === undefined ? [] : [option, String(value)];
});

const questionsOf = (operations, gpus, presets) => {
  const gpu = () => ['--gpu', chance(0.01) ? 'h1000' : pick(gpus)];
  const format = (...formats) => ['--format', pick(formats)];
  const view = () => (chance(0.1) ? [pick(['--datasheet', '--analytic'])] : []);
  const model = () => [pick(presets), '--phase', pick(['prefill', 'decode', 'train']), '--batch', String(countOf('batch')), '--seq', String(pick([128, 1000, 2048, 8192])),
    '--software', pick(['transformers', 'compiled', 'serving']), ...(chance(0.2) ? ['--quantise', pick(['fp8', 'int8', 'int4'])] : []), ...(chance(0.2) ? ['--tp', pick(['2', '4', '8'])] : [])];
  const one = () => {
    const operation = pick(operations);
    return [operation.op, ...fieldWords(operation)];
  };
  const kinds = [
    [50, () => ['predict', ...one(), ...gpu(), ...view(), ...format('json', 'json', 'table', 'csv', 'md')]],
    [10, () => ['predict', ...one(), ...gpu(), ...view(), '--explain']],
    [12, () => ['vram', ...one(), ...gpu(), ...format('json', 'table', 'csv')]],
    [8, () => ['model', ...model(), ...gpu(), ...format('json', 'table')]],
    [3, () => ['model', pick(presets), '--serve', '--software', 'serving', '--tp', pick(['1', '2', '1,2']), ...gpu(), ...format('json', 'table')]],
    [4, () => ['model', pick(presets), '--serve', '--software', 'serving', '--tp', pick(['1', '2,4']), '--seq', String(pick([512, 4096])), '--ttft', pick(['200ms', '2s']), '--tpot', pick(['20ms', '100ms']),
      ...(chance(0.5) ? ['--price', pick(['2', '3.5'])] : []), ...(chance(0.3) ? ['--quantise', pick(['fp8', 'int4'])] : []), ...gpu(), ...format('json', 'table', 'csv')]],
    [3, () => ['plan', chance(0.8) ? pick(presets) : pick(configs), ...gpu(), ...format('json', 'table', 'csv', 'md')]],
    [4, () => ['plan', pick(presets), '--gpus', pick(['1', '2,4', '1:8:*2']), '--seq', String(pick([512, 8192])), ...pick([[], [], ['--batch', '8'], ['--tpot', pick(['20ms', 'none'])], ['--ttft', '500ms'], ['--quantise', pick(['fp8', 'int4', 'nvfp4'])],
      ['--software', pick(['transformers', 'compiled'])]]), ...(chance(0.4) ? ['--price', '2.5'] : []), '--gpu', chance(0.3) ? `${pick(gpus)},${pick(gpus)}` : pick(gpus), ...format('json', 'table')]],
    [2, () => ['serve', pick(small), '--rate', pick(['2', '5,20']), '--count', '50', ...(chance(0.5) ? ['--ttft', '500ms', '--tpot', '50ms'] : []), ...gpu(), ...format('json', 'table')]],
    [2, () => ['plan', pick(small), ...pick([['--train'], ['--train', '--checkpoint', 'full'], ['--finetune', 'lora'], ['--finetune', 'qlora']]), '--gpus', pick(['1', '2', '1,2']), ...gpu(), ...format('json', 'table')]],
    [5, () => ['diagnose', pick([...timed, ...timed, ...records, ...traces]), ...(chance(0.8) ? gpu() : []), ...(chance(0.3) ? ['--on', pick(gpus)] : []), ...format('json', 'table', 'csv', 'md')]],
    // Files of strangers, whole and broken, by every reader.
    [5, () => [pick(['trace', 'diagnose', 'validate']), pick(strange), ...(chance(0.6) ? gpu() : []), ...format('json', 'table')]],
    [3, () => [...pick([['predict', '--from'], ['validate'], ['diagnose']]), pick(strange), ...gpu(), ...format('csv', 'json')]],
    [3, () => [pick(['model', 'plan', 'vram']), pick(configs), ...gpu(), ...format('json', 'table')]],
    [1, () => ['gpus', 'check', pick(strange)]],
    [3, () => ['compare', ...one(), '--gpu', `${pick(gpus)},${pick(gpus)}`, ...format('json', 'table')]],
    [3, () => ['sweep', 'matmul', '--m', '64:4096:*2', '--n', String(countOf('n')), '--k', String(countOf('k')), ...gpu(), ...format('csv', 'json', 'table')]],
    [2, () => ['roofline', ...gpu(), '--dtype', pick(['bf16', 'fp32', 'fp8']), '--op', `matmul m=${countOf('m')} n=4096 k=4096`, ...format('json', 'chart', 'csv')]],
    [2, () => ['occupancy', '--threads', String(32 * (1 + below(32))), '--registers', String(16 + below(200)), '--shared', String(1024 * below(100)), ...gpu()]],
    [1, () => ['effect', pick(['coalescing', 'fusion', 'tiling', 'online-softmax', 'scaling']), ...gpu(), ...format('json', 'csv')]],
    [1, () => ['gpus', 'show', pick(gpus), ...format('json', 'table')]],
    [1, () => ['trace', pick(traces), ...format('json', 'table'), ...(chance(0.5) ? gpu() : [])]],
    [1, () => ['validate', pick(records), ...format('json', 'table')]],
    // `fit` is not in the page, so that its help differs.
    [1, () => [pick(['ops', 'gpus', 'validate', 'nonsense', 'measure', 'doctor']), '--help']],
  ];
  const total = kinds.reduce((sum, [weight]) => sum + weight, 0);
  return Array.from({length: Number(count)}, () => {
    let at = random() * total;
    return kinds.find(([weight]) => (at -= weight) < 0)[1]();
  });
};

const close = (a, b) => a === b || Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
const alike = (a, b) => {
  if (typeof a === 'number' && typeof b === 'number') return close(a, b);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && alike(a[name], b[name]));
};
const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
// CSV has all digits of its numbers; tables and messages have few.
const wordsAlike = (a, b) => {
  const [left, right] = [a, b].map((text) => text.split(/([,\s]+)/));
  return left.length === right.length && left.every((word, i) => word === right[i] || close(Number(word), Number(right[i])));
};
const equal = (words, a, b) => {
  if (a.code !== b.code || a.messages !== b.messages) return false;
  if (a.output === b.output) return true;
  const [left, right] = [parsed(a.output), parsed(b.output)];
  if (left !== undefined && right !== undefined) return alike(left, right);
  return words.includes('csv') && wordsAlike(a.output, b.output);
};

const filesIn = (folder, ending) => fs.readdirSync(path.join(root, folder)).filter((name) => ending.test(name)).map((name) => path.join(root, folder, name));
const traces = [...filesIn('tests/programs/traces', /\.json\.gz$/), ...filesIn('tests/programs/data', /^ncu.*\.csv$/)];
const records = filesIn('records/h100-sxm-calls-judge', /\.jsonl(\.gz)?$/);
const small = ['llama-3.1-8b', 'qwen3-8b', 'gpt2'];
const timed = [path.join(root, 'docs/examples/times.csv')];
const configs = [];
const strange = [];

// The seeds of the fuzzers, with the names that their readers expect, and halves of them, in a folder that both sides see.
const strangersIn = (folder) => {
  const endings = {trace: 'json', config: 'json', rows: 'csv', tables: 'csv', records: 'jsonl', description: 'toml', activity: 'ridge'};
  for (const [kind, ending] of Object.entries(endings)) {
    const from = path.join(root, 'tests/fuzz/corpus', kind);
    for (const name of fs.readdirSync(from)) {
      // The page unpacks files before the module sees them, and has no SQLite.
      if (/compressed|sqlite/.test(name)) continue;
      const bytes = fs.readFileSync(path.join(from, name));
      for (const [part, share] of [['whole', 1], ['half', 0.5]]) {
        const to = path.join(folder, `${kind}-${part}-${name.replace(/\W/g, '-')}.${ending}`);
        fs.writeFileSync(to, bytes.subarray(0, Math.floor(bytes.length * share)));
        (kind === 'config' ? configs : strange).push(to);
      }
    }
  }
  return [...configs, ...strange];
};

const main = async () => {
  const {module, ask} = await moduleOf();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ridge-answers-'));
  for (const file of [...traces, ...records, ...timed, ...strangersIn(folder)]) {
    const bytes = fs.readFileSync(file);
    module.FS.mkdirTree(path.dirname(file));
    module.FS.writeFile(file, file.endsWith('.gz') ? zlib.gunzipSync(bytes) : bytes);
  }
  const listed = (words) => JSON.parse(ask([...words, '--format', 'json']).output);
  const questions = questionsOf(listed(['ops']), listed(['gpus']).map((gpu) => gpu.name), ask(['model', '--list']).output.trim().split('\n'));
  const done = spawnSync(native, {input: questions.map((words) => words.join('\t') + '\n').join(''), maxBuffer: 2 ** 31 - 1, env: {HOME: '/nonexistent'}});
  const answers = done.stdout.toString().trim().split('\n').map((line) => JSON.parse(line));
  fs.rmSync(folder, {recursive: true});
  let different = 0;
  let refused = 0;
  questions.forEach((words, i) => {
    const own = ask(words);
    refused += own.code === 0 ? 0 : 1;
    if (equal(words, own, answers[i])) return;
    if (++different <= 5) console.log(`DIFFERENT: ridge ${words.join(' ')}\n  module: ${own.code} ${own.output.slice(0, 1500)}${own.messages}\n  native: ${answers[i]?.code} ${answers[i]?.output.slice(0, 1500)}${answers[i]?.messages}`);
  });
  console.log(`${questions.length - different} of ${questions.length} answers equal (${refused} of them refusals), seed ${seed}`);
  process.exit(different || answers.length !== questions.length || refused > questions.length / 2 ? 1 : 0);
};

main();
