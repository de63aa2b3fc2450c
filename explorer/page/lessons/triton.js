// A Triton kernel of GeLU or softmax: each program computes one block; a mask keeps it inside the array.
{
  const sources = {
    gelu: ['@triton.jit', 'def gelu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):', '    pid = tl.program_id(0)', '    at = pid * BLOCK + tl.arange(0, BLOCK)', '    x = tl.load(x_ptr + at, mask=at < n)', '    y = 0.5 * x * (1 + tanh(0.79788 * (x + 0.044715 * x*x*x)))', '    tl.store(y_ptr + at, y, mask=at < n)'],
    softmax: ['@triton.jit', 'def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):', '    row = tl.program_id(0)', '    at = tl.arange(0, BLOCK)', '    x = tl.load(x_ptr + row * n + at, mask=at < n, other=-inf)', '    e = tl.exp(x - tl.max(x, 0))', '    tl.store(y_ptr + row * n + at, e / tl.sum(e, 0), mask=at < n)'],
  };
  const ptx = {
    gelu: [['ld.global.v4.b32', '16 bytes for each thread: four numbers of fp32'], ['mul.f32, fma.rn.f32', 'the polynomial, four times'], ['ex2.approx, rcp', 'tanh by the special-function unit'], ['st.global.v4.b32', '16 bytes back']],
    softmax: [['ld.global.v4.b32', 'the row, once'], ['max.f32, shfl.sync', 'the maximum of a warp, lane to lane'], ['st.shared, bar.sync', 'the maximum of all warps'], ['ex2.approx.f32', 'the exponentials'], ['add.f32, shfl.sync', 'the sum, the same way'], ['st.global.v4.b32', 'the result, once']],
  };
  const steps = [2, 3, 4, 5, 6];

  const draw = (pen, f, t) => {
    const now = steps[Math.min(4, Math.floor(t / 1.5))];
    const size = pen.narrow ? 11 : 13;
    const height = pen.narrow ? 17 : 20;
    f.source.forEach((line, i) => {
      if (i === now) pen.box(0, 2 + i * height, pen.w, height, {fill: 'cream', round: 3});
      pen.context.font = `${size}px ui-monospace, "Liberation Mono", monospace`;
      pen.context.fillStyle = pen.colour(i === now ? 'ink' : 'soft');
      pen.context.textAlign = 'left';
      pen.context.fillText(line, 4, 16 + i * height, pen.w - 8);
    });
    // The array in blocks; the program in work is lit, masked lanes are hatched.
    const top = 2 + 7 * height + 34;
    pen.text(0, top - 10, f.softmax ? `row ${f.pid}: ${f.n} of ${f.block} lanes` : `${f.programs} programs of ${f.block} over ${f.n} numbers`, {size: 13, bold: true, fit: pen.w});
    const shown = f.softmax ? 1 : Math.min(f.programs, 8);
    const wide = pen.w / shown;
    for (let i = 0; i < shown; ++i) {
      const index = f.softmax ? f.pid : i === shown - 1 ? f.programs - 1 : i;
      const mine = f.softmax || index === f.pid;
      const inside = f.softmax ? f.n / f.block : Math.min(1, (f.n - index * f.block) / f.block);
      const x = i * wide;
      pen.box(x + 1, top, wide - 3, 46, {fill: 'quiet', stroke: 'line', dash: [3, 3]});
      const loads = now >= 4 ? 1 : 0.25;
      pen.box(x + 1, top, (wide - 3) * inside, 46, {fill: mine ? (now >= 5 ? 'green' : loads === 1 ? 'blue' : 'sky') : 'sky'});
      pen.text(x + wide / 2, top + 28, f.softmax ? 'one program, one row' : `${index}`, {align: 'center', fill: mine && loads === 1 ? 'paper' : 'ink', size: 13});
      if (inside < 1 && mine) pen.text(x + wide - 6, top + 66, 'masked', {size: 12, align: 'right', fill: 'orange'});
    }
    const y = top + 88;
    pen.text(0, y, 'the same in PTX', {size: 13, bold: true});
    f.ptx.forEach(([name, what], i) => {
      pen.context.font = `${size}px ui-monospace, "Liberation Mono", monospace`;
      pen.context.fillStyle = pen.colour('blue');
      pen.context.textAlign = 'left';
      pen.context.fillText(name, 4, y + 20 + i * 18, pen.w * 0.4);
      pen.text(pen.w * 0.4, y + 20 + i * 18, what, {size: 12, fit: pen.w * 0.6});
    });
  };

  lesson('triton', {
    title: 'Triton and PTX of two kernels',
    question: 'GeLU from its formula in eager PyTorch takes eight kernels. How much faster is one Triton kernel?',
    guess: {choices: ['no faster', '2 to 4 times', '5 times and more'], limits: [1.2, 4.5], value: (f) => f.gain, told: (value) => `${fold(value)} as fast for 67 million numbers`},
    controls: [
      {choose: 'kernel', name: 'Kernel', of: [['gelu', 'GeLU'], ['softmax', 'softmax of a row']], start: 'gelu'},
      {slide: 'n', name: 'numbers', low: 100, high: 8192, start: 5000},
      {slide: 'block', name: 'BLOCK, a power of two', low: 128, high: 8192, start: 1024, doubling: true},
      {slide: 'pid', name: 'program', low: 0, high: 63, start: 1},
    ],
    study(state, model) {
      const softmax = state.kernel === 'softmax';
      const n = clampTo(state.n, 100, 8192);
      const asked = 2 ** Math.round(Math.log2(clampTo(state.block, 128, 8192)));
      const block = softmax ? 2 ** Math.ceil(Math.log2(n)) : asked;
      const programs = softmax ? 64 : Math.ceil(n / block);
      const formula = '0.5*x*(1+tanh(0.79788*(x+0.044715*x*x*x)))';
      const op = softmax ? (how) => `softmax rows=16384 cols=4096 dtype=fp32 impl=${how}` : (how) => `elementwise expr=${formula} elements=67108864 dtype=fp32 impl=${how}`;
      const gelu = (how) => model.time(`elementwise expr=${formula} elements=67108864 dtype=fp32 impl=${how}`);
      const ways = softmax ? ['manual', 'compiled'] : ['torch', 'compiled'];
      const [eager, one] = ways.map((how) => model.time(op(how)));
      return {softmax, n, block, programs, pid: Math.min(programs - 1, clampTo(state.pid, 0, 63)), source: sources[softmax ? 'softmax' : 'gelu'], ptx: ptx[softmax ? 'softmax' : 'gelu'], eager, one, gain: gelu('torch') / gelu('compiled'), masked: softmax ? block - n : programs * block - n};
    },
    facts: (f) => [f.softmax ? `One program loads a row of ${f.n} into ${f.block} lanes; ${f.masked} are masked.` : `${f.n} numbers in blocks of ${f.block}: ${f.programs} program${f.programs > 1 ? 's' : ''}, ${f.masked} masked lanes in the last.`],
    claims: (f) => [whichever(
      [[f.eager, '~', f.one], () => `67 million numbers take ${timeOf(f.one)} in one kernel and ${timeOf(f.eager)} in several: about the same.`],
      [[f.eager, '>', f.one], () => `67 million numbers take ${timeOf(f.one)} in one kernel instead of ${timeOf(f.eager)} in several: ${fold(f.eager / f.one)} as fast.`],
      [[f.eager, '<', f.one], () => `67 million numbers take ${timeOf(f.one)} in one kernel, ${timeOf(f.eager)} in several.`])],
    height: (width) => (width < 520 ? 400 : 440), seconds: 7.5, step: 1.5, poster: 3.2, draw,
    tell: (f) => `A Triton kernel line by line, the ${f.programs} programs that it becomes, and its main instructions in PTX.`,
    chart: (f) => (Number.isFinite(f.eager) ? {title: '67 million numbers, fp32', bars: [{name: f.softmax ? 'five kernels' : 'eager PyTorch, the formula', value: f.eager, text: timeOf(f.eager)}, {name: 'one kernel (compiled)', value: f.one, text: timeOf(f.one), lit: true}]} : undefined),
    depth: ['A program is a block of threads; Triton divides its lanes among them and chooses the loads. TRITON_CACHE_DIR keeps PTX and machine code; `ridge kernel FILE.cubin` counts its pipes and estimates its time.', ['ridge kernel gelu.cubin --gpu h100 --grid 65536 --block 128 --dram-bytes 537MB']],
  });
}
