// Chips over the years: arithmetic grows faster than memory, and memory faster than links.
{
  const dated = () => remembered(['gpus', 'timeline']).filter((each) => each.announced).map((each) => {
    const [year, month] = each.announced.split('-').map(Number);
    return {...each, year: year + (month - 1) / 12};
  });

  const draw = (pen, f) => {
    const left = pen.narrow ? 76 : 120;
    const most = Math.max(...['peak', 'memory', 'link'].map((name) => f.last[name] || 1));
    [['arithmetic', f.now.peak, 'blue'], ['memory', f.now.memory, 'orange'], ['link', f.now.link, 'green']].forEach(([name, value, fill], i) => {
      const y = 36 + i * 62;
      pen.text(0, y + 22, name, {bold: true});
      pen.box(left, y, pen.w - left, 34, {fill: 'quiet', round: 3});
      pen.box(left, y, Math.max(2, ((pen.w - left) * value) / most), 34, {fill, round: 3});
      pen.text(left + 8, y + 50, `× ${numberText(value, 3)}`, {size: 13, bold: true});
    });
    pen.text(0, 16, `the best of each until ${f.year}, as a multiple of a P100 (2016)`, {size: 13, fit: pen.w});
    pen.text(0, 250, `fastest chip: ${f.best}`, {size: 13});
  };

  lesson('scaling', {
    title: 'The memory wall',
    question: 'From the P100 of 2016 to today: which grew most, arithmetic, memory bandwidth or links?',
    guess: {choices: ['links', 'memory', 'arithmetic'], limits: [0.8, 1.2], counted: true, value: (f) => f.last.peak / f.last.memory, told: (value) => (value > 1.2 ? `arithmetic, by ${fold(value)} more than memory` : value < 0.8 ? 'links' : 'memory')},
    controls: [{slide: 'year', name: 'until', low: 2016, high: 2026, start: 2024}],
    counted: true,
    study(state) {
      const chips = dated();
      const first = chips.find((each) => each.name === 'p100-sxm') || chips[0];
      const year = clampTo(state.year, 2016, 2026);
      const upTo = (limit) => {
        const seen = chips.filter((each) => each.year < limit + 1 && each.year >= first.year - 0.01);
        const best = (name) => Math.max(...seen.map((each) => (each[name] || 0) / first[name]));
        return {peak: best('peak_flop_per_s'), memory: best('dram_bytes_per_s'), link: best('link_bytes_per_s')};
      };
      const fastest = chips.filter((each) => each.year < year + 1).sort((a, b) => b.peak_flop_per_s - a.peak_flop_per_s)[0];
      const ridge = (each) => each.peak_flop_per_s / each.dram_bytes_per_s;
      return {year, now: upTo(year), last: upTo(2026), best: catalogue.title(fastest.name), ridgeFirst: ridge(first), ridge: ridge(fastest), chips: chips.map((each) => [each.year, ridge(each), each.name]), fastest: [fastest.year, ridge(fastest)]};
    },
    facts: (f) => [
      `Until ${f.year} arithmetic grew ${numberText(f.now.peak, 3)} ×, memory bandwidth ${numberText(f.now.memory, 3)} ×, links ${numberText(f.now.link, 3)} ×.`,
      whichever(
        [[f.ridge, '>', 1.05 * f.ridgeFirst], () => `An operation needs ${numberText(f.ridge, 3)} FLOP a byte to keep the fastest chip busy; on the P100 ${numberText(f.ridgeFirst, 3)}. More of them are bound by memory.`],
        [[f.ridge, '>', 0], () => `An operation needs ${numberText(f.ridge, 3)} FLOP a byte to keep the fastest chip busy.`]),
    ],
    height: () => 262, draw,
    tell: (f) => `Three bars against a P100: arithmetic ${numberText(f.now.peak, 3)}, memory ${numberText(f.now.memory, 3)}, link ${numberText(f.now.link, 3)} times.`,
    chart: (f) => ({title: 'FLOP that a byte must feed', x: {title: 'announced', ticks: [2012, 2016, 2020, 2024].map((year) => [year, String(year)])}, y: {}, here: f.fastest, series: [{name: 'chips of the catalogue', dots: 4, points: f.chips.map(([year, ridge]) => [year, ridge])}]}),
    effect: 'scaling',
    depth: ['Peaks are dense, in 16 bits. Gholami et al. (2024) count 60,000 × for arithmetic, 100 × for DRAM and 30 × for links over twenty years.'],
  });
}
