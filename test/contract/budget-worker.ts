// node budget-worker.ts FOLDER, with DATABASE_URL. Does the budget work of a gateway process: reads orders
// from standard input and writes answers to standard output, one JSON line each. It ends when its standard
// input ends.
import { createInterface } from 'node:readline';
import type { Owner } from '../../domain/identity/caller.ts';
import { openActor, type SeededBudgets, type Submission, type Terms } from './budget-actor.ts';

/** An order to a worker. */
export type Order = { readonly id: number } & (
  | { readonly do: 'settle'; readonly submissions: readonly Submission[] }
  | { readonly do: 'settleLate'; readonly submission: Submission; readonly at: string }
  | { readonly do: 'set'; readonly owner: Owner; readonly terms: Terms | null }
  | { readonly do: 'reseed'; readonly budgets: SeededBudgets }
);

if (import.meta.main) {
  const folder = process.argv[2];
  const actor = await openActor(process.env['DATABASE_URL'] ?? '', 6, folder === undefined ? {} : { folder });
  const obey = (order: Order): Promise<unknown> => {
    if (order.do === 'settle') return actor.settle(order.submissions);
    if (order.do === 'settleLate') return actor.settleLate(order.submission, order.at);
    if (order.do === 'set') return actor.set(order.owner, order.terms);
    return actor.reseed(order.budgets);
  };
  const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
  say({ ready: true });
  for await (const line of createInterface(process.stdin)) {
    const order = JSON.parse(line) as Order;
    void obey(order).then((answer) => say({ id: order.id, answer }));
  }
  await actor.close();
}
