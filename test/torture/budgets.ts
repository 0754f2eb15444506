// node test/torture/budgets.ts [MINUTES]
// Budgets under load for a chosen time: processes that settle and change budgets are killed, paused and
// disconnected, PostgreSQL is restarted, and `gateway_now` passes the ends of windows. TORTURE_SEED repeats
// the schedule of an earlier run; the interleaving within it depends on the machine.
import { rm } from 'node:fs/promises';
import { budgetChaos, type ChaosFigures } from '../contract/budget-chaos.ts';
import { givenNumber } from '../support/given-number.ts';
import { sweptFolder } from '../support/swept-folder.ts';

/** Each cycle has its own owners; their complete history is audited at its end. */
const cycleSeconds = 15;

const minutes = givenNumber(1, 3);
const seed = Number(process.env['TORTURE_SEED'] ?? Date.now() % 2 ** 31);
const folder = await sweptFolder('budgets');

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const told = ({ cycles, events, answers, ...figures }: ChaosFigures): string =>
  `cycle ${cycles}: ${JSON.stringify({ ...figures, answers, events })}`;

say(`seed ${seed}, ${minutes} min, in ${folder}`);
const from = performance.now();
try {
  const total = await budgetChaos({
    folder,
    seed,
    workers: 4,
    cycles: Math.max(1, Math.round((minutes * 60) / (cycleSeconds + 3))),
    cycleSeconds,
    onCycle: (figures) => say(told(figures)),
  });
  const seconds = Math.round((performance.now() - from) / 1000);
  say(`nothing is wrong after ${seconds} s: seed ${seed}, ${told(total)}`);
} catch (error) {
  say(`seed ${seed}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
