// npm run bench:scaling [-- --per-second N] [--seconds N]: simulates a deployment of many machines from the costs of
// statements on this one. docs/scaling.md says what it teaches.
import { parseArgs } from 'node:util';
import { numbersOf } from '../test/support/given-number.ts';
import { type Costs, type Deployment, simulated, type StatementCost } from './scaling-model.ts';
import { measuredCosts } from './statement-costs.ts';
import { table } from './tables.ts';

const { values } = parseArgs({
  options: { 'per-second': { type: 'string', default: '100000' }, seconds: { type: 'string', default: '1' } },
});
const { 'per-second': perSecond, seconds } = numbersOf(values, 'per-second', 'seconds');
const out = (line: string): void => void process.stdout.write(`${line}\n`);

const costs: Costs = { ...(await measuredCosts()), network: 200, providerMs: 300 };
const said = ({ fixed, each }: StatementCost): string =>
  `${fixed.toFixed(0)} µs and ${each.toFixed(0)} µs for each request`;
out(
  `Measured here, with a hard budget and summary rows: admission ${said(costs.admission)}, settlement ` +
    `${said(costs.settlement)}, a commit ${costs.commit.toFixed(0)} µs. Taken: ${costs.network} µs for the network.\n`,
);

const base: Deployment = {
  perSecond,
  owners: 200_000,
  exponent: 0.8,
  replicas: 64,
  sticky: false,
  nodes: 8,
  shardsPerNode: 4,
  coresPerNode: 16,
  hotOwnerParts: 1,
};
const even = { ...base, exponent: 0 };
const hot = { ...base, exponent: 1 };
const deployments: readonly (readonly [string, Deployment])[] = [
  ['8 nodes, owners alike', even],
  ['… and 4 nodes', { ...even, nodes: 4, shardsPerNode: 8 }],
  ['… and 16 nodes', { ...even, nodes: 16, shardsPerNode: 2 }],
  ['… and 32 shards a node', { ...even, shardsPerNode: 32 }],
  ['… and 512 replicas', { ...even, replicas: 512 }],
  ['8 nodes, Zipf 0.8', base],
  ['8 nodes, Zipf 1.0', hot],
  ['… an owner always on one replica', { ...hot, sticky: true }],
  ['… the busiest in 4 owners', { ...hot, hotOwnerParts: 4 }],
  ['… the busiest in 16 owners', { ...hot, hotOwnerParts: 16 }],
];
const percent = (part: number): string => `${(part * 100).toFixed(0)} %`;
const rows = deployments.map(([name, deployment]) => {
  const found = simulated(deployment, costs, seconds, 7);
  return [
    name,
    found.cores.toFixed(0),
    percent(found.busiest),
    found.batch.toFixed(1),
    found.p50.toFixed(1),
    found.p99.toFixed(1),
    percent(found.served),
    found.hotPerSecond.toFixed(0),
    found.hotP99.toFixed(1),
    percent(found.hotServed),
  ];
});
out(
  table([
    [
      `${perSecond} requests a second`,
      'cores used',
      'busiest node',
      'requests a settlement',
      'p50, ms',
      'p99, ms',
      'served',
      'busiest owner, a second',
      'its p99, ms',
      'its served',
    ],
    ...rows,
  ]),
);
