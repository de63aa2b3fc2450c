// The random questions of compare_answers.js, over every command that the page answers and every reader of files.
// questionsFor(SEED, COUNT, ROOT, FOLDER, {operations, gpus, presets, lessons}) -> {questions: [[word, ...], ...], files: [path, ...]}
// FOLDER receives strangers' files, and is where -o of a question writes its chart.
'use strict';

const fs = require('fs');
const path = require('path');

// mulberry32
const generator = (seed) => {
  let state = Number(seed);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
};

const sizes = {
  heads: [1, 8, 32, 64, 128], head_dim: [32, 64, 96, 128, 256], batch: [1, 2, 16, 100], kv_heads: [1, 8], topk: [1, 2, 8], experts: [8, 64, 256],
  gpus: [2, 4, 8], tp: [1, 2], ep: [1, 2], stride: [1, 2, 8, 32, 64], paths: [1, 2, 4], ways: [1, 2, 32], offset: [0, 1, 16], inputs: [2, 3], window: [128, 4096], inner: [1, 4],
};
const expressions = ['gelu(x + bias)', 'x * y + z', 'silu(x) * y', 'exp(-x*x)', 'where(x > 0, x, 0.1*x)', 'x ** 3', 'x +', 'erf(x) / (1 + y)'];
const lengths = ['512', '100-2000', 'exponential:512', 'lognormal:512:0.8', 'zipf:16-4096'];

// The engines' kernels by operation, as software/ names them: {"vllm-0.24.0": {matmul: [name, ...]}}.
const kernelsIn = (root) => {
  const found = {};
  for (const software of fs.readdirSync(path.join(root, 'software'))) {
    const named = (found[software] = {});
    const file = path.join(root, 'software', software, 'software.toml');
    if (!fs.existsSync(file)) continue;
    for (const [, name, operations] of fs.readFileSync(file, 'utf8').matchAll(/\[\[kernel\]\]\nname = "(.*)"\noperations = \[(.*)\]/g)) {
      for (const [, operation] of operations.matchAll(/"(\w+)"/g)) (named[operation] ??= []).push(name);
    }
  }
  return found;
};

const filesIn = (root, folder, ending) => fs.readdirSync(path.join(root, folder)).filter((name) => ending.test(name)).map((name) => path.join(root, folder, name));

// The seeds of the fuzzers, with the names that their readers expect, and halves of them.
const strangersIn = (root, folder) => {
  const endings = {trace: 'json', config: 'json', rows: 'csv', tables: 'csv', records: 'jsonl', requests: 'csv', description: 'toml', activity: 'ridge', sass: 'sass'};
  const found = Object.fromEntries(Object.keys(endings).map((kind) => [kind, []]));
  for (const [kind, ending] of Object.entries(endings)) {
    const from = path.join(root, 'tests/fuzz/corpus', kind);
    for (const name of fs.readdirSync(from)) {
      // The page unpacks files before the module sees them, and has no SQLite.
      if (/compressed|sqlite/.test(name)) continue;
      const bytes = fs.readFileSync(path.join(from, name));
      for (const [part, share] of [['whole', 1], ['half', 0.5]]) {
        const to = path.join(folder, `${kind}-${part}-${name.replace(/\W/g, '-')}.${ending}`);
        fs.writeFileSync(to, bytes.subarray(0, Math.floor(bytes.length * share)));
        found[kind].push(to);
      }
    }
  }
  return found;
};

const questionsFor = (seed, count, root, folder, {operations, gpus, presets, lessons}) => {
  const random = generator(seed);
  const below = (limit) => Math.floor(random() * limit);
  const pick = (list) => list[below(list.length)];
  const chance = (share) => random() < share;
  const maybe = (share, ...words) => (chance(share) ? words : []);

  const strange = strangersIn(root, folder);
  const {config: configs, requests: logs, sass: odd_code} = strange;
  const strangers = Object.entries(strange).filter(([kind]) => kind !== 'config').flatMap(([, names]) => names);
  const traces = [...filesIn(root, 'tests/programs/traces', /\.json\.gz$/), ...filesIn(root, 'tests/programs/data', /^ncu.*\.csv$/)];
  const records = filesIn(root, 'records/h100-sxm-calls-judge', /\.jsonl(\.gz)?$/);
  const code = filesIn(root, 'tests/kernel/data', /\.sass$/);
  const timed = [path.join(root, 'docs/examples/times.csv')];
  const small = ['llama-3.1-8b', 'qwen3-8b', 'gpt2'];
  const kernels = kernelsIn(root);
  const software = Object.keys(kernels);
  const engines = software.filter((name) => Object.keys(kernels[name]).length);

  const countOf = (field) => (sizes[field] ? pick(sizes[field]) : chance(0.3) ? 1 + below(50000) : 2 ** below(16));
  const valueOf = (field) => {
    if (field.field === 'expr') return pick(expressions);
    if (field.field === 'dtype') return pick(['bf16', 'fp16', 'fp32', 'fp8', 'tf32', 'fp64', 'int8']);
    if (field.field === 'software') return pick(software);
    if (field.words?.length) return pick(field.words);
    if (field.kind === 'count') return ['elements', 'bytes', 'l2_bytes', 'flop'].includes(field.field) ? 2 ** (10 + below(20)) : countOf(field.field);
    return undefined;
  };
  const fieldWords = (operation, without = []) => operation.fields.flatMap((field) => {
    const asked = field.required || field.field === 'seq' || chance(field.field === 'software' ? 0.1 : 0.2);
    if (!asked || chance(0.01) || without.includes(field.field)) return [];
    const option = '--' + field.field.replace(/_/g, '-');
    if (field.kind === 'flag') return [option];
    const value = valueOf(field);
    return value === undefined ? [] : [option, String(value)];
  });
  const one = () => {
    const operation = pick(operations);
    return [operation.op, ...fieldWords(operation)];
  };
  // An operation as an engine runs it, at times by a kernel of that engine.
  const served = () => {
    const engine = pick(engines);
    const [op, names] = pick(Object.entries(kernels[engine]));
    const operation = operations.find((each) => each.op === op);
    return [op, ...fieldWords(operation, ['software', 'kernel', 'impl', 'dtype']), '--dtype', pick(['bf16', 'fp8', 'fp8_block', 'nvfp4']), '--software', engine, ...maybe(0.5, '--kernel', pick(names))];
  };
  const gpu = () => ['--gpu', chance(0.01) ? 'h1000' : chance(0.05) ? `${pick(gpus)}@${pick([100, 300, 500])}W` : pick(gpus)];
  const format = (...formats) => ['--format', pick(formats)];
  const view = () => maybe(0.1, pick(['--datasheet', '--analytic']));
  const energy = () => [...maybe(0.5, '--data', pick(['normal', 'uniform', 'zeros', 'constant'])), ...maybe(0.4, '--power', pick(['200W', '400 W', '1kW'])), ...maybe(0.4, '--clock', pick(['1200 MHz', '1.5GHz'])),
    ...maybe(0.3, '--temperature', pick(['30', '80'])), ...maybe(0.4, '--price-kwh', '0.2'), ...maybe(0.3, '--grid-intensity', '350')];
  const model = () => [pick(presets), '--phase', pick(['prefill', 'decode', 'train']), '--batch', String(countOf('batch')), '--seq', String(pick([128, 1000, 2048, 8192])),
    '--software', pick(['transformers', 'compiled', 'serving', ...engines]), ...maybe(0.2, '--quantise', pick(['fp8', 'int8', 'int4'])), ...maybe(0.2, '--tp', pick(['2', '4', '8'])), ...maybe(0.1, '--price-kwh', '0.3'), ...maybe(0.1, '--advise')];
  const chart = (...endings) => ['-o', path.join(folder, `chart-${below(2 ** 30)}.${pick(endings)}`)];
  const load = () => pick([['--rate', pick(['2', '5,20'])], ['--concurrency', pick(['4', '1,16'])], ['--log', pick(logs)]]);

  const kinds = [
    [46, () => ['predict', ...one(), ...gpu(), ...view(), ...format('json', 'json', 'table', 'csv', 'md')]],
    [10, () => ['predict', ...served(), ...gpu(), ...view(), ...format('json', 'table')]],
    [8, () => ['predict', ...(chance(0.8) ? one() : served()), ...gpu(), ...energy(), ...format('json', 'table', 'csv')]],
    [10, () => ['predict', ...one(), ...gpu(), ...view(), '--explain']],
    [12, () => ['vram', ...one(), ...gpu(), ...format('json', 'table', 'csv')]],
    [8, () => ['model', ...model(), ...gpu(), ...format('json', 'table')]],
    [3, () => ['model', pick(presets), '--serve', '--software', 'serving', '--tp', pick(['1', '2', '1,2']), ...gpu(), ...format('json', 'table')]],
    [4, () => ['model', pick(presets), '--serve', '--software', 'serving', '--tp', pick(['1', '2,4']), '--seq', String(pick([512, 4096])), '--ttft', pick(['200ms', '2s']), '--tpot', pick(['20ms', '100ms']),
      ...maybe(0.5, '--price', pick(['2', '3.5'])), ...maybe(0.3, '--quantise', pick(['fp8', 'int4'])), ...gpu(), ...format('json', 'table', 'csv')]],
    [3, () => ['plan', chance(0.8) ? pick(presets) : pick(configs), ...gpu(), ...format('json', 'table', 'csv', 'md')]],
    [4, () => ['plan', pick(presets), '--gpus', pick(['1', '2,4', '1:8:*2']), '--seq', String(pick([512, 8192])), ...pick([[], [], ['--batch', '8'], ['--tpot', pick(['20ms', 'none'])], ['--ttft', '500ms'], ['--quantise', pick(['fp8', 'int4', 'nvfp4'])],
      ['--software', pick(['transformers', 'compiled'])], ['--engine', pick(['vllm', 'sglang,trtllm'])]]), ...maybe(0.4, '--price', '2.5'), '--gpu', chance(0.3) ? `${pick(gpus)},${pick(gpus)}` : pick(gpus), ...format('json', 'table')]],
    [3, () => ['serve', pick(small), ...load(), '--count', '50', ...maybe(0.4, '--ttft', '500ms', '--tpot', '50ms'), ...maybe(0.3, '--prompt', pick(lengths), '--answer', pick(lengths)), ...maybe(0.3, '--software', pick(['vllm', 'sglang', 'trtllm', ...engines])),
      ...maybe(0.2, '--quantise', pick(['fp8', 'int4'])), ...maybe(0.1, '--separate', '1:1'), ...maybe(0.1, '--draft', pick(['ngram', 'mtp'])), ...maybe(0.2, '--prefix', '0.5'), ...maybe(0.2, '--tp', '2'), ...gpu(), ...format('json', 'table', 'csv')]],
    [2, () => ['plan', pick(small), ...pick([['--train'], ['--train', '--checkpoint', 'full'], ['--finetune', 'lora'], ['--finetune', 'qlora']]), '--gpus', pick(['1', '2', '1,2']), ...gpu(), ...format('json', 'table')]],
    [5, () => ['diagnose', pick([...timed, ...timed, ...records, ...traces]), ...(chance(0.8) ? gpu() : []), ...maybe(0.3, '--on', pick(gpus)), ...format('json', 'table', 'csv', 'md')]],
    [4, () => ['kernel', pick([...code, ...odd_code]), ...maybe(0.7, '--trips', pick(['8', '128', '64,8'])), ...maybe(0.7, '--grid', pick(['1', '512', '16x32']), '--block', pick(['128', '32x8'])), ...maybe(0.3, '--dram-bytes', '101MB'), ...gpu(), ...format('json', 'table')]],
    // Files of strangers, whole and broken, by every reader.
    [5, () => [pick(['trace', 'diagnose', 'validate']), pick(strangers), ...(chance(0.6) ? gpu() : []), ...format('json', 'table')]],
    [3, () => [...pick([['predict', '--from'], ['compare', '--from'], ['validate'], ['diagnose']]), pick(strangers), ...gpu(), ...format('csv', 'json')]],
    [3, () => [pick(['model', 'plan', 'vram']), pick(configs), ...gpu(), ...format('json', 'table')]],
    [1, () => ['gpus', 'check', pick(strangers)]],
    [3, () => ['compare', ...one(), '--gpu', `${pick(gpus)},${pick(gpus)}`, ...format('json', 'table')]],
    [3, () => ['sweep', 'matmul', '--m', '64:4096:*2', '--n', String(countOf('n')), '--k', String(countOf('k')), ...gpu(), ...maybe(0.2, pick(['--power', '--clock']), pick(['200,400', '900,1200'])), ...format('csv', 'json', 'table')]],
    [2, () => ['roofline', ...gpu(), '--dtype', pick(['bf16', 'fp32', 'fp8']), '--op', `matmul m=${countOf('m')} n=4096 k=4096`, ...maybe(0.2, '--energy'), ...format('json', 'chart', 'csv')]],
    // The drawings, which the page shows as they are.
    [1, () => ['roofline', ...gpu(), '--op', `matmul m=${countOf('m')} n=4096 k=4096`, ...chart('svg', 'html')]],
    [1, () => ['plan', pick(small), ...gpu(), ...chart('svg', 'html')]],
    [1, () => ['diagnose', pick([...timed, ...records]), ...gpu(), ...chart('svg', 'html')]],
    [1, () => ['effect', pick(lessons), ...gpu(), ...chart('svg', 'html')]],
    [1, () => ['plot', 'scatter', pick(records), ...chart('svg', 'html')]],
    [2, () => ['occupancy', '--threads', String(32 * (1 + below(32))), '--registers', String(16 + below(200)), '--shared', String(1024 * below(100)), ...gpu()]],
    [1, () => ['effect', pick(lessons), ...gpu(), ...format('json', 'csv')]],
    [1, () => ['gpus', 'show', pick(gpus), ...format('json', 'table')]],
    [1, () => ['trace', pick(traces), ...format('json', 'table'), ...(chance(0.5) ? gpu() : [])]],
    [1, () => ['validate', pick(records), ...format('json', 'table')]],
    [1, () => ['check', pick([...timed, ...records, ...traces]), pick([...timed, ...records, ...traces, ...strangers]), ...format('json', 'table', 'md')]],
    // `fit` is not in the page, so that its help differs.
    [1, () => [pick(['ops', 'gpus', 'validate', 'nonsense', 'measure', 'doctor', 'serve', 'kernel', 'plan']), '--help']],
  ];
  const total = kinds.reduce((sum, [weight]) => sum + weight, 0);
  const questions = Array.from({length: Number(count)}, () => {
    let at = random() * total;
    return kinds.find(([weight]) => (at -= weight) < 0)[1]();
  });
  return {questions, files: [...traces, ...records, ...code, ...timed, ...configs, ...strangers]};
};

module.exports = {questionsFor};
