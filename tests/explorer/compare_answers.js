// Asks the explorer's module and the native program the same random questions: exit codes and messages are equal,
// numbers in JSON within 1e-12, all other output character by character, charts that were written too.
// Usage: node compare_answers.js RIDGE.js RIDGE.wasm ANSWER_QUESTIONS ROOT [COUNT [SEED]]
'use strict';

const {spawnSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const zlib = require('zlib');
const {questionsFor} = require('./random_questions.js');

const [glue, wasm, native, root, count = '1500', seed = '42'] = process.argv.slice(2);

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
// CSV and the data of charts have all digits of their numbers; tables and messages have few.
const firstDifference = (a, b) => {
  if (a === b) return undefined;
  const [left, right] = [a, b].map((text) => text.split(/([^\w.+-]+)/));
  const at = left.findIndex((word, i) => word !== right[i] && !close(Number(word), Number(right[i])));
  if (at < 0 && left.length === right.length) return undefined;
  return [left, right].map((words) => words.slice(Math.max(0, at - 8), at + 8).join('')).join(' | ');
};
const equal = (words, a, b) => {
  if (a.code !== b.code || a.messages !== b.messages) return false;
  if (a.output === b.output) return true;
  const [left, right] = [parsed(a.output), parsed(b.output)];
  if (left !== undefined && right !== undefined) return alike(left, right);
  return words.includes('csv') && !firstDifference(a.output, b.output);
};

const main = async () => {
  const {module, ask} = await moduleOf();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ridge-answers-'));
  const listed = (words) => JSON.parse(ask([...words, '--format', 'json']).output);
  const lines = (words) => ask(words).output.trim().split('\n');
  const {questions, files} = questionsFor(seed, count, root, folder,
    {operations: listed(['ops']), gpus: listed(['gpus']).map((gpu) => gpu.name), presets: lines(['model', '--list']), lessons: listed(['effect', 'list']).map((each) => each.name)});
  for (const file of files) {
    const bytes = fs.readFileSync(file);
    module.FS.mkdirTree(path.dirname(file));
    module.FS.writeFile(file, file.endsWith('.gz') ? zlib.gunzipSync(bytes) : bytes);
  }
  const done = spawnSync(native, {input: questions.map((words) => words.join('\t') + '\n').join(''), maxBuffer: 2 ** 31 - 1, env: {HOME: '/nonexistent'}});
  const answers = done.stdout.toString().trim().split('\n').map((line) => JSON.parse(line));
  const drawn = (words, read) => {
    const file = words[words.indexOf('-o') + 1];
    return words.includes('-o') ? read(file) : '';
  };
  let different = 0;
  let refused = 0;
  questions.forEach((words, i) => {
    const own = ask(words);
    refused += own.code === 0 ? 0 : 1;
    const chart = drawn(words, (file) => (module.FS.analyzePath(file).exists ? module.FS.readFile(file, {encoding: 'utf8'}) : ''));
    const chart_of_native = drawn(words, (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''));
    const difference = firstDifference(chart, chart_of_native);
    if (answers[i] && equal(words, own, answers[i]) && !difference) return;
    if (++different <= 5) console.log(`DIFFERENT: ridge ${words.join(' ')}\n  module: ${own.code} ${own.output.slice(0, 1500)}${own.messages}\n  native: ${answers[i]?.code} ${answers[i]?.output.slice(0, 1500)}${answers[i]?.messages}${difference ? `  charts: ${difference}` : ''}`);
  });
  fs.rmSync(folder, {recursive: true});
  const asked = {};
  for (const [command] of questions) asked[command] = (asked[command] ?? 0) + 1;
  console.log(Object.entries(asked).map(([command, times]) => `${times} ${command}`).join(', '));
  console.log(`${questions.length - different} of ${questions.length} answers equal (${refused} of them refusals), seed ${seed}`);
  process.exit(different || answers.length !== questions.length || refused > questions.length / 2 ? 1 : 0);
};

main();
