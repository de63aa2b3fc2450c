// My data: files of one's own, read and judged in this page as the command line does.

views.data = {
  title: 'My data',
  lead: 'Drop a trace of the PyTorch profiler (.json or .json.gz), a report of Nsight Compute (.csv), records of ridge (.jsonl or .jsonl.gz) or a table of shapes and times (.csv). The files stay on this computer.',
  defaults: {gpu: 'h100-sxm'},

  build(root, state, change) {
    const results = el('div', {role: 'status'});
    const open = async (files) => {
      for (const file of files) await readOwn(file, state.gpu, results);
    };
    const input = el('input', {type: 'file', id: freshId(), multiple: true, onchange: () => open(input.files)});
    const zone = el('div', {className: 'drop', ondragover: (event) => event.preventDefault(), ondrop: (event) => {
      event.preventDefault();
      open(event.dataTransfer.files);
    }}, labelled('Choose files, or drop them here', input));
    root.append(el('div', {className: 'controls row'}, gpuChoice('GPU of tables that name none', state.gpu, (gpu) => change({gpu}))), zone, results);
    return () => {};
  },
};

// Commands that may read a file, the most telling first. The first that accepts it answers.
const readersOf = (name, head, gpu) => {
  if (/\.jsonl$/.test(name)) return [['validate', name]];
  if (/"traceEvents"|"schemaVersion"/.test(head) || /\.json$/.test(name)) return [['diagnose', name], ['trace', name], ['trace', name, '--gpu', gpu]];
  if (/Kernel Name/.test(head)) return [['diagnose', name], ['trace', name], ['trace', name, '--gpu', gpu]];
  return [['validate', name, '--gpu', gpu], ['validate', name], ['predict', '--from', name, '--gpu', gpu, '--format', 'md']];
};

const readOwn = async (file, gpu, results) => {
  const section = el('section', {className: 'own'}, el('h2', {}, file.name), el('p', {className: 'hint'}, 'Reading …'));
  results.prepend(section);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const name = await keepFile(file);
  const head = new TextDecoder().decode(engine.module.FS.readFile(name).subarray(0, 4096));
  const refusals = [];
  for (const words of readersOf(name, head, gpu)) {
    const page = words[0] === 'trace' || words[0] === 'diagnose' ? '/own.html' : undefined;
    const answer = engine.ask([...words, ...(page ? ['-o', page] : [])]);
    if (answer.code !== 0 && !answer.output.trim()) {
      refusals.push(messageOf(answer));
      continue;
    }
    const nodes = page && engine.module.FS.analyzePath(page).exists ? [pageNodes(engine.module.FS.readFile(page, {encoding: 'utf8'}))] : [];
    if (page && nodes.length) engine.module.FS.unlink(page);
    const text = el('pre', {tabIndex: 0}, answer.output);
    section.replaceChildren(el('h2', {}, file.name), ...(answer.messages.trim() && answer.code !== 0 ? [el('p', {className: 'hint'}, answer.messages.trim())] : []),
      ...nodes, nodes.length ? el('details', {}, el('summary', {}, 'As text'), text) : text, commandsNode(words));
    return;
  }
  section.replaceChildren(el('h2', {}, file.name), problem(refusals.find((text) => !text.startsWith('unknown command')) || refusals[0]));
};
