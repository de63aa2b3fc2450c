// Puts the explorer into one file: node pack.js RIDGE.js RIDGE.wasm ROOT OUTPUT.html
// The module and its glue stand in the page as base64 of gzip. The style of the charts is asked of the module itself.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const zlib = require('zlib');

const most = 4 * 1024 * 1024;
const chartScripts = ['axes', 'chart', 'interaction', 'spans', 'table'].map((name) => `plot/page/${name}.js`);
const ownScripts = ['engine', 'controls', 'commands', 'router', 'catalogue', 'waiting', 'view_roofline', 'view_operation', 'view_memory', 'view_model', 'view_compare', 'view_data', 'view_lessons', 'pen', 'lesson', 'lessons', 'start']
  .map((name) => `explorer/page/${name}.js`);
// `lessons` stands for every lesson.
const scriptsOf = (root) => [...chartScripts, ...ownScripts].flatMap((name) => (name !== 'explorer/page/lessons.js' ? [name]
  : fs.readdirSync(path.join(root, 'explorer/page/lessons')).sort().map((file) => `explorer/page/lessons/${file}`)));

const run = (module, words) => {
  const call = Buffer.from(words.join('\0'));
  const at = module._malloc(call.length + 1);
  module.HEAPU8.set(call, at);
  const code = module._ridge_run(at, call.length);
  module._free(at);
  if (code !== 0) throw new Error(`ridge ${words.join(' ')}: exit code ${code}`);
  const from = module._ridge_output();
  return Buffer.from(module.HEAPU8.subarray(from, from + module._ridge_output_size())).toString();
};

const main = async ([glue, wasm, root, output]) => {
  const wasmBinary = fs.readFileSync(wasm);
  const module = await require(path.resolve(glue))({wasmBinary});
  const version = run(module, ['--version']).replace(/^ridge /, '').trim();
  run(module, ['roofline', '--gpu', 'h100-sxm', '-o', '/style.html']);
  const chartStyle = /<style>([^]*?)<\/style>/.exec(module.FS.readFile('/style.html', {encoding: 'utf8'}))[1];

  const text = (file) => fs.readFileSync(path.join(root, file), 'utf8');
  const packed = (bytes) => zlib.gzipSync(bytes, {level: 9}).toString('base64');
  const script = ["(() => {\n'use strict';", ...scriptsOf(root).map(text), '})();'].join('\n');
  if (/<\/script/i.test(script)) throw new Error('a script contains the closing tag of its element');
  new vm.Script(script);  // a name that two files declare would leave the page empty
  const parts = {
    STYLE: chartStyle + text('explorer/page/explorer.css') + text('explorer/page/lessons.css'),
    VERSION: version,
    MODULE: packed(wasmBinary),
    EXAMPLE: text('docs/examples/times.csv'),
    GLUE: packed(fs.readFileSync(glue)),  // an element of its own, because the page's worker runs it too
    SCRIPT: script,
  };
  const page = text('explorer/page/index.html').replace(/@([A-Z]+)@/g, (_, name) => parts[name]);
  if (page.length > most) throw new Error(`${output} would have ${page.length} bytes; at most ${most} are allowed`);
  fs.writeFileSync(output, page);
  console.log(`${output}: ${(page.length / 1e6).toFixed(2)} MB, of it the module ${(parts.MODULE.length / 1e6).toFixed(2)} MB (${(wasmBinary.length / 1e6).toFixed(2)} MB unpacked)`);
};

main(process.argv.slice(2)).catch((error) => {
  console.error(`pack: ${error.message}`);
  process.exit(1);
});
