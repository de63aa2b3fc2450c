// The program ridge as a WebAssembly module: `ask(['predict', 'matmul', ...])` runs a command and
// returns its exit code and texts. Files of the page are copied into the module's own file system.

const engine = {
  module: undefined,

  // Unpacks the module that stands in the page, base64 of gzip.
  async start() {
    const node = document.getElementById('module');
    const packed = Uint8Array.from(atob(node.textContent), (letter) => letter.charCodeAt(0));
    node.remove();
    const wasmBinary = await unpacked(packed);
    this.module = await ridgeModule({wasmBinary});
  },

  ask(words) {
    const {module} = this;
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

  write(name, bytes) {
    this.module.FS.writeFile(name, bytes);
  },
};

const messageOf = (answer) =>
  answer.messages.split('\ntry: ')[0].replace(/^ridge(?: [a-z]+)?: /, '').trim() || `exit code ${answer.code}`;

const unpacked = async (bytes) => {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};
