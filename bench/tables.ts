import type { Conditions, Figure, Figures, Memory, Results, ScenarioResult } from './results.ts';
import { type Measure, type Scenario, scenarios } from './scenarios.ts';

/** A column of a scenario's table. A side without a value has a dash. */
interface Column {
  readonly head: string;
  readonly cell: (figures: Figures) => string;
}

const none = '–';

const micros = (value: number): string => value.toFixed(value < 10 ? 1 : 0);
const millis = (value: number): string => value.toFixed(2);
const times = (value: number): string => value.toFixed(2);

const shown = (value: number | undefined, how: (value: number) => string): string =>
  value === undefined ? none : how(value);

const cpuColumns = (
  { unit, sides }: Scenario,
  { sides: found }: ScenarioResult,
  peer: string | undefined,
): readonly Column[] => [
  { head: `CPU, µs per ${unit}`, cell: ({ cpu }) => shown(cpu?.median, micros) },
  { head: `× ${sides[0] ?? ''}`, cell: ({ cpu }) => shown(cpu?.ratio, times) },
  ...(found.some(({ cpu }) => cpu?.ofPeer !== undefined)
    ? [{ head: `× ${peer ?? ''}`, cell: ({ cpu }: Figures) => shown(cpu?.ofPeer, times) }]
    : []),
];

const timeColumns = (head: string, of: (figures: Figures) => Figure | undefined): readonly Column[] => [
  { head: `${head}, ms`, cell: (figures) => shown(of(figures)?.median, millis) },
  { head: 'added, ms', cell: (figures) => shown(of(figures)?.added, millis) },
];

const columnsOf: Readonly<
  Record<Measure, (scenario: Scenario, result: ScenarioResult, peer: string | undefined) => readonly Column[]>
> = {
  cpu: cpuColumns,
  database: ({ unit }) => [
    { head: `database, µs per ${unit}`, cell: ({ database }) => shown(database?.median, micros) },
  ],
  p50: () => timeColumns('p50', ({ p50 }) => p50),
  p99: () => timeColumns('p99', ({ p99 }) => p99),
  firstP50: () => timeColumns('p50', ({ firstP50 }) => firstP50),
  firstP99: () => timeColumns('p99', ({ firstP99 }) => firstP99),
};

/** A table in Markdown whose columns are also aligned in plain text. */
export function table(rows: readonly (readonly string[])[]): string {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.slice(1).map(line)].join('\n');
}

/** The table of one scenario, with its title above it. */
export function scenarioTable(
  scenario: Scenario,
  result: ScenarioResult,
  { peer }: Pick<Conditions, 'peer'>,
): string {
  const columns = scenario.measures.flatMap((measure) => columnsOf[measure](scenario, result, peer));
  const rows = result.sides.map(({ side, ...figures }) => [
    side,
    ...columns.map(({ cell }) => cell(figures)),
  ]);
  return table([[scenario.title, ...columns.map(({ head }) => head)], ...rows]);
}

export const memoryTable = (memory: readonly Memory[]): string =>
  table([
    ['Resident memory, MiB', 'idle', 'after load', 'supervisor'],
    ...memory.map(({ side, idleMib, afterLoadMib, supervisorMib }) => [
      side,
      idleMib.toFixed(0),
      afterLoadMib.toFixed(0),
      supervisorMib === 0 ? none : supervisorMib.toFixed(0),
    ]),
  ]);

/** Where and how the figures were taken, as a sentence. */
export function conditionsLine(of: Conditions): string {
  const load = of.scale === 1 ? '' : ` of ${of.scale} times the usual load`;
  const peer = of.peer === undefined ? '' : `, compared with ${of.peer}`;
  return (
    `Taken on ${of.takenAt} with Node ${of.node} on ${of.processors} processors (${of.processor}), load average ` +
    `${of.loadAverage.toFixed(1)} at the start: medians of ${of.rounds} ${of.rounds === 1 ? 'round' : 'rounds'}${load}${peer}.`
  );
}

/** The page with its tables generated again, each between `<!-- bench: NAME -->` and `<!-- end -->`. */
export const withTables = (page: string, results: Results): string =>
  page.replaceAll(
    /(<!-- bench: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_all, begin: string, name: string, end: string) => `${begin}${tableNamed(name, results)}\n${end}`,
  );

function tableNamed(name: string, { conditions, scenarios: measured, memory }: Results): string {
  if (name === 'conditions') return conditionsLine(conditions);
  if (name === 'memory') return memoryTable(memory);
  const scenario = scenarios.find((each) => each.name === name);
  const result = measured.find((each) => each.name === name);
  if (scenario === undefined || result === undefined) throw new Error(`the results have no ${name}`);
  return scenarioTable(scenario, result, conditions);
}
