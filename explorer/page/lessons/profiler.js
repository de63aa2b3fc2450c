// The columns of PyTorch's profiler, read off nested calls: self and total time, on the host and on the GPU.
{
  // [name, depth, from, to] on the host and the kernel that a call starts, in microseconds: an example.
  const calls = [
    ['linear', 0, 0, 40, undefined], ['addmm', 1, 6, 36, [40, 130, 'gemm']],
    ['gelu', 0, 44, 60, [130, 160, 'gelu kernel']],
    ['linear', 0, 64, 104, undefined], ['addmm', 1, 70, 100, [160, 250, 'gemm']],
    ['mean', 0, 108, 130, [250, 262, 'reduce']], ['item', 0, 134, 270, undefined], ['synchronize', 1, 138, 266, undefined],
  ];
  const names = [...new Set(calls.map(([name]) => name))];
  const childrenOf = (i) => calls.map((call, j) => [call, j]).filter(([call, j]) => j > i && call[1] === calls[i][1] + 1 && call[2] >= calls[i][2] && call[3] <= calls[i][3]).map(([, j]) => j);
  const gpuOf = (i) => (calls[i][4] ? calls[i][4][1] - calls[i][4][0] : 0);
  const rowOf = (name) => {
    const mine = calls.map((call, i) => [call, i]).filter(([call]) => call[0] === name).map(([, i]) => i);
    const total = mine.reduce((sum, i) => sum + calls[i][3] - calls[i][2], 0);
    const inner = mine.reduce((sum, i) => sum + childrenOf(i).reduce((s, j) => s + calls[j][3] - calls[j][2], 0), 0);
    const selfGpu = mine.reduce((sum, i) => sum + gpuOf(i), 0);
    const innerGpu = mine.reduce((sum, i) => sum + childrenOf(i).reduce((s, j) => s + gpuOf(j), 0), 0);
    return {name, selfCpu: total - inner, cpu: total, selfGpu, gpu: selfGpu + innerGpu, calls: mine.length};
  };

  const draw = (pen, f) => {
    const most = 270;
    const left = pen.narrow ? 40 : 54;
    const scale = (pen.w - left - 2) / most;
    pen.text(0, 30, 'host', {size: 12, fill: 'soft'});
    pen.text(0, 104, 'GPU', {size: 12, fill: 'soft'});
    calls.forEach(([name, depth, from, to, kernel], i) => {
      const mine = name === f.name;
      const y = 14 + depth * 30;
      pen.box(left + from * scale, y, (to - from) * scale - 1, 26, {fill: mine ? (f.column.includes('Cpu') || f.column === 'cpu' ? 'orange' : 'sand') : 'quiet', stroke: 'line', round: 2});
      // Self time: without the calls inside.
      if (mine && f.column === 'selfCpu') for (const j of childrenOf(i)) pen.box(left + calls[j][2] * scale, y, (calls[j][3] - calls[j][2]) * scale, 26, {fill: 'quiet'});
      if ((to - from) * scale > 34) pen.text(left + from * scale + 4, y + 17, name, {size: 12, fit: (to - from) * scale - 6, fill: mine && f.column !== 'selfCpu' && f.column !== 'gpu' && f.column !== 'selfGpu' ? 'paper' : 'ink'});
      if (!kernel) return;
      const owner = calls.findIndex((call, j) => j < i && call[1] === depth - 1 && call[2] <= from && call[3] >= to);
      const counted = (mine && (f.column === 'gpu' || f.column === 'selfGpu')) || (f.column === 'gpu' && owner >= 0 && depth > 0 && calls[owner][0] === f.name);
      pen.box(left + kernel[0] * scale, 88, (kernel[1] - kernel[0]) * scale - 1, 26, {fill: counted ? 'blue' : 'sky', round: 2});
      if ((kernel[1] - kernel[0]) * scale > 30) pen.text(left + kernel[0] * scale + 4, 105, kernel[2], {size: 12, fill: counted ? 'paper' : 'ink', fit: (kernel[1] - kernel[0]) * scale - 6});
      if (mine || counted) pen.path([[left + ((from + to) / 2) * scale, y + 26], [left + kernel[0] * scale + 3, 88]], {stroke: 'soft', dash: [3, 3]});
    });
    // The table, with the cell in question lit.
    const columns = [['name', 'Name'], ['selfCpu', 'Self CPU'], ['cpu', 'CPU total'], ['selfGpu', 'Self CUDA'], ['gpu', 'CUDA total'], ['calls', '# of calls']];
    const shown = pen.narrow ? columns.filter(([key]) => key !== 'calls') : columns;
    const w = pen.w / shown.length;
    shown.forEach(([key, title], k) => {
      const right = key !== 'name';
      const x = right ? (k + 1) * w - 6 : 2;
      pen.text(x, 152, title, {size: 12, bold: true, align: right ? 'right' : 'left', fit: w - 6});
      f.rows.forEach((row, i) => {
        const y = 176 + i * 22;
        const lit = row.name === f.name && key === f.column;
        if (lit) pen.box(k * w, y - 15, w, 20, {fill: key.toLowerCase().includes('gpu') ? 'blue' : 'orange', round: 3});
        pen.text(x, y, key === 'name' ? row.name : key === 'calls' ? String(row.calls) : `${row[key]} µs`, {size: 12, align: right ? 'right' : 'left', fill: lit ? 'paper' : 'ink', bold: row.name === f.name, fit: w - 6});
      });
    });
  };

  lesson('profiler', {
    title: 'Columns of the PyTorch profiler',
    question: 'The row of linear shows no Self CUDA time at all. Did it run on the GPU?',
    guess: {choices: ['no', 'yes: its time stands under addmm'], limits: [0.5], counted: true, value: () => rowOf('linear').gpu, told: (value) => `yes: ${value} µs of CUDA total, all of it in addmm's kernels`},
    controls: [
      {choose: 'name', name: 'Row', of: names, start: 'linear'},
      {choose: 'column', name: 'Column', of: [['selfCpu', 'Self CPU'], ['cpu', 'CPU total'], ['selfGpu', 'Self CUDA'], ['gpu', 'CUDA total']], start: 'gpu'},
    ],
    counted: true,
    study(state) {
      const rows = names.map(rowOf);
      const row = rows.find((each) => each.name === state.name) || rows[0];
      const most = [...rows].sort((a, b) => b.selfGpu - a.selfGpu)[0];
      return {rows, name: row.name, column: state.column || 'gpu', row, value: row[state.column || 'gpu'], most, wait: rows.find((each) => each.name === 'synchronize')};
    },
    facts: (f) => [
      {selfCpu: `Self CPU of ${f.name}: ${f.value} µs on the host, without the calls inside it.`, cpu: `CPU total of ${f.name}: ${f.value} µs on the host, with the calls inside it.`, selfGpu: `Self CUDA of ${f.name}: ${f.value} µs of the kernels that it starts itself.`, gpu: `CUDA total of ${f.name}: ${f.value} µs of its kernels and of those of the calls inside it.`}[f.column],
      `Look at Self CUDA first: ${f.most.name} has ${f.most.selfGpu} µs. The ${f.wait.cpu} µs of synchronize are the host waiting, not work.`,
    ],
    height: () => 312, draw,
    tell: (f) => `Nested calls of the host, kernels of the GPU, and the profiler's table with ${f.name} lit.`,
    chart: (f) => ({title: 'Self CUDA time', bars: f.rows.filter((row) => row.selfGpu).map((row) => ({name: row.name, value: row.selfGpu, text: `${row.selfGpu} µs`, lit: row.name === f.name}))}),
    depth: ['A small example; the numbers are made up and add up. Calls nest (linear calls addmm), kernels run later than the calls that start them, and self times add up to the whole while totals do not.', 'ridge reads such a recording: `ridge trace trace.json` shows each kernel beside its prediction.'],
  });
}
