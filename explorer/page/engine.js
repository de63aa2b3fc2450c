// The program ridge as a WebAssembly module, twice: in the page, for answers that must follow a hand
// (`ask(['predict', 'matmul', ...])` returns exit code and texts), and in a worker, for what takes
// longer (`later(words, ...)`), so that the page stays alive and the work can be cancelled. Files of
// the page are copied into the module's own file system.

const engine = {
  module: undefined,
  compiled: undefined,
  files: new Map(),  // name in the module's file system -> {serial, blob}

  glue: '',  // what loads the module, as text

  // Unpacks the module and its glue, which stand in the page as base64 of gzip, and runs the glue.
  async start() {
    const [glue, module] = await Promise.all(['glue', 'module'].map(unpackedElement));
    this.glue = new TextDecoder().decode(glue);
    const script = document.createElement('script');
    script.textContent = this.glue;
    document.head.append(script);
    this.compiled = await WebAssembly.compile(module);
    this.module = await moduleOf(this.compiled);
  },

  ask(words) {
    return askModule(this.module, words);
  },

  // The parsed JSON of a command, or an Error with the program's message.
  json(words) {
    const answer = this.ask([...words, '--format', 'json']);
    if (!answer.output.trim()) throw new Error(messageOf(answer));
    return JSON.parse(answer.output);
  },

  // The file that a command writes to `-o`, as text.
  file(words, name) {
    const answer = this.ask([...words, '-o', name]);
    if (answer.code !== 0) throw new Error(messageOf(answer));
    const text = this.module.FS.readFile(name, {encoding: 'utf8'});
    this.module.FS.unlink(name);
    return text;
  },

  // Makes a file of the page readable for the worker, and with `here` for the page's own module.
  async keep(name, blob, {here = false} = {}) {
    this.files.set(name, {serial: ++filesKept, blob});
    if (here) this.module.FS.writeFile(name, await unpacked(new Uint8Array(await blob.arrayBuffer())));
  },

  // The answer from the worker, {code, output, messages, page}; `page` is the text of the file that the words name after `-o`.
  // Calls are answered in turn. `progress({step, share})` is told what is being done. An aborted `signal` rejects with
  // an AbortError and, if the call is running, ends the worker; the next call starts another.
  later(words, {progress, signal} = {}) {
    const turn = this.last.then(() => (signal?.aborted ? Promise.reject(aborted()) : askWorker(words, progress, signal)));
    this.last = turn.catch(() => {});
    return turn;
  },
  last: Promise.resolve(),
};

let filesKept = 0;

// The bytes that an element holds as base64 of gzip; the element goes.
const unpackedElement = (id) => {
  const node = document.getElementById(id);
  node.remove();
  return unpacked(Uint8Array.from(atob(node.textContent), (letter) => letter.charCodeAt(0)));
};

const messageOf = (answer) =>
  answer.messages.split('\ntry: ')[0].replace(/^ridge(?: [a-z]+)?: /, '').trim() || `exit code ${answer.code}`;

const aborted = () => new DOMException('cancelled', 'AbortError');

const moduleOf = (compiled) => ridgeModule({
  instantiateWasm(imports, done) {
    WebAssembly.instantiate(compiled, imports).then((instance) => done(instance, compiled));
    return {};
  },
});

const askModule = (module, words) => {
  const call = new TextEncoder().encode(words.join('\0'));
  const at = module._malloc(call.length + 1);
  module.HEAPU8.set(call, at);
  const code = module._ridge_run(at, call.length);
  module._free(at);
  const text = (from, size) => new TextDecoder().decode(module.HEAPU8.subarray(from, from + size));
  return {
    code,
    output: text(module._ridge_output(), module._ridge_output_size()),
    messages: text(module._ridge_messages(), module._ridge_messages_size()),
  };
};

const isPacked = (bytes) => bytes[0] === 0x1f && bytes[1] === 0x8b;
const unpacked = async (bytes) => {
  if (!isPacked(bytes)) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// The first bytes of a file, unpacked.
const headOf = async (blob, most = 4096) => {
  const first = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (!isPacked(first)) return new TextDecoder().decode(await blob.slice(0, most).arrayBuffer());
  const reader = blob.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const {value} = await reader.read();
  reader.cancel().catch(() => {});
  return new TextDecoder().decode((value || new Uint8Array()).subarray(0, most));
};

// What the worker runs: this function as text, after the module's glue and the functions that it shares with the page.
// In:  {compiled} once, then {words, files: [[name, serial, blob]], output}.
// Out: {step, share} while it works, then {answer} or {error}.
const serveCalls = () => {
  let module;
  const written = new Map();
  const report = (step, share) => postMessage({step, share});
  const write = async (name, blob) => {
    const {FS} = await module;
    let done = 0;
    let told = 0;
    const counting = new TransformStream({transform(chunk, control) {
      done += chunk.length;
      if (done - told > blob.size / 50) report('unpacking', (told = done) / blob.size);
      control.enqueue(chunk);
    }});
    const packed = isPacked(new Uint8Array(await blob.slice(0, 2).arrayBuffer()));
    const stream = blob.stream().pipeThrough(counting);
    const reader = (packed ? stream.pipeThrough(new DecompressionStream('gzip')) : stream).getReader();
    const file = FS.open(name, 'w');
    for (let part = await reader.read(); !part.done; part = await reader.read()) FS.write(file, part.value, 0, part.value.length);
    FS.close(file);
    // Tells how far the program has read the file.
    const {node} = FS.lookupPath(name);
    const read = node.stream_ops.read;
    let last = 0;
    node.stream_ops = {...node.stream_ops, read(from, buffer, offset, length, position) {
      const share = position / from.node.usedBytes;
      if (share > last + 0.02 || share < last) report('reading', last = share);
      const count = read(from, buffer, offset, length, position);
      if (position + count >= from.node.usedBytes) report('judging');
      return count;
    }};
  };
  const answerTo = async ({words, files, output}) => {
    const {FS} = await module;
    for (const [name, serial, blob] of files) {
      if (written.get(name) === serial) continue;
      await write(name, blob);
      written.set(name, serial);
    }
    const answer = askModule(await module, words);
    if (output && FS.analyzePath(output).exists) {
      answer.page = FS.readFile(output, {encoding: 'utf8'});
      FS.unlink(output);
    }
    return answer;
  };
  onmessage = ({data}) => {
    if (data.compiled) {
      module = moduleOf(data.compiled);
      return;
    }
    answerTo(data).then((answer) => postMessage({answer}), (error) => postMessage({error: String(error.message || error)}));
  };
};

let worker;
let workerAddress;
const startWorker = () => {
  const shared = Object.entries({moduleOf, askModule, isPacked, serveCalls}).map(([name, value]) => `const ${name} = ${value};`);
  const text = [engine.glue, ...shared, 'serveCalls();'].join('\n');
  workerAddress ||= URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));
  worker = new Worker(workerAddress);
  worker.postMessage({compiled: engine.compiled});
};
const endWorker = () => {
  worker?.terminate();
  worker = undefined;
};

const askWorker = (words, progress, signal) => new Promise((done, refuse) => {
  if (!worker) startWorker();
  const cancel = () => {
    endWorker();
    refuse(aborted());
  };
  const fail = (text) => {
    signal?.removeEventListener('abort', cancel);
    endWorker();  // after an exception its memory cannot be trusted
    refuse(new Error(/memory|allocat|abort/i.test(text) ? 'this takes more memory than a page of the browser may have (2 GB); the command below has no such limit' : text));
  };
  signal?.addEventListener('abort', cancel, {once: true});
  worker.onerror = (event) => fail(event.message || 'the worker could not start');
  worker.onmessage = ({data}) => {
    if (data.step) return progress?.(data);
    if (data.error !== undefined) return fail(data.error);
    signal?.removeEventListener('abort', cancel);
    done(data.answer);
  };
  const output = words.includes('-o') ? words[words.indexOf('-o') + 1] : undefined;
  const files = [...engine.files].filter(([name]) => words.includes(name)).map(([name, {serial, blob}]) => [name, serial, blob]);
  worker.postMessage({words, files, output});
});
