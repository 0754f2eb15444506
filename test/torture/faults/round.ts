import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../e2e/traces.ts';
import { randomFrom } from '../../support/seeded.ts';
import {
  accounted,
  badLines,
  descriptors,
  endedWell,
  overshot,
  type Problems,
  tightDays,
  tighten,
  truncated,
  wholeLedger,
} from './audit.ts';
import { type Fault, type FaultName, faults } from './faults.ts';
import { type MixedLoad, mixedLoad, modelNamed, one, type Sent } from './mixed-load.ts';
import type { Owner } from './scene.ts';
import { allServe, type World } from './world.ts';

/** Within this time after the last fault, a call of every owner must succeed on every replica. */
const recoveryMs = 30_000;
/** The time for the first answers on a busy machine. */
const warmUpMs = 90_000;
/** Within this time after that, the journals must be settled and the database must be idle. */
const quietMs = 30_000;

/** The result of a round. */
export interface RoundFigures {
  readonly faults: readonly FaultName[];
  readonly requests: number;
  readonly complete: number;
  readonly rows: number;
  /** Gateway processes that were killed, and that were stopped with SIGTERM. */
  readonly kills: number;
  readonly stops: number;
  /** From the last fault's end to the first success of every owner on every replica. */
  readonly recoveryMs: number;
  readonly problems: Problems;
}

export interface RoundPlan {
  readonly faults: readonly FaultName[];
  /** Answers before the first fault. */
  readonly warmUp: number;
  readonly seed: number;
  /** The maximum duration of a fault. */
  readonly longestMs: number;
}

/** One or two faults, chosen by the seed of the round. */
export function aPlan(seed: number, possible: readonly FaultName[], longestMs: number): RoundPlan {
  const random = randomFrom(seed);
  const first = one(random, possible);
  const second = one(random, possible);
  return {
    faults: random() < 0.6 && second !== first ? [first, second] : [first],
    warmUp: 20 + Math.floor(random() * 60),
    seed,
    longestMs,
  };
}

/** Runs load and faults, ends the faults, waits for recovery, and audits the ledger. */
export async function playRound(world: World, plan: RoundPlan): Promise<RoundFigures> {
  const random = randomFrom(plan.seed ^ 0x5bd1e995);
  const rowsBefore = await rowCount(world);
  const spentBefore = await tightDays(world);
  const amount = await tighten(world, 30 + Math.floor(random() * 40));
  const load = mixedLoad(world, plan.seed);
  const problems: string[] = [];
  const trying = (what: string) => (error: unknown) => void problems.push(`${what}: ${String(error)}`);
  await eventually(() => (load.answered() >= plan.warmUp ? true : undefined), warmUpMs).catch(
    trying('warm-up'),
  );
  await Promise.all(
    plan.faults.map(async (name, index) => {
      await sleep(index * random() * 800);
      await happen(name, { world, load, random: randomFrom(plan.seed + index) }, plan.longestMs).catch(
        trying(name),
      );
    }),
  );
  const liftedAt = performance.now();
  await sleep(500);
  const back = recovered(world, load)
    .catch(trying('recovery'))
    .then(() => performance.now() - liftedAt);
  const [, took] = await Promise.all([load.stop(), back]);
  await Promise.all([reusable(world, load).catch(trying('ids')), quiet(world).catch(trying('quiet'))]);
  load.close();
  const endings = world.endings();
  const isAway = plan.faults.some((name) => !withoutDatabase.has(name));
  problems.push(
    ...truncated(load.sent),
    ...(await accounted(world, load.sent, plan.faults.includes('the upstream is away'))),
    ...(await overshot(world, amount, spentBefore)),
    ...(await wholeLedger(world)),
    ...endedWell(endings, isAway),
    ...badLines(world.lines()),
    ...descriptors(world.replicas.map((replica) => replica.descriptors())),
  );
  return {
    faults: plan.faults,
    requests: load.sent.length,
    complete: load.sent.filter(({ outcome }) => outcome.fate === 'complete').length,
    rows: (await rowCount(world)) - rowsBefore,
    kills: endings.filter(({ asked }) => asked === 'SIGKILL').length,
    stops: endings.filter(({ asked }) => asked === 'SIGTERM').length,
    recoveryMs: took,
    problems,
  };
}

/** If only these faults occur, a gateway can settle everything on SIGTERM. */
const withoutDatabase: ReadonlySet<FaultName> = new Set<FaultName>([
  'a gateway is killed',
  'all gateways are killed',
  'a worker is killed',
  'a gateway is told to stop',
  'all gateways are told to stop',
  'the upstream is away',
  'the upstream breaks its answers',
  'gateways take their configuration up again',
  'the clock of a gateway steps',
  'the clock of the database steps',
]);

async function happen(
  name: FaultName,
  stage: Parameters<Fault['begin']>[0],
  longestMs: number,
): Promise<void> {
  const { begin, lasts }: Fault = faults[name];
  const [min, max] = lasts;
  const lift = await begin(stage);
  // Most faults are short, since long ones take time and find little more.
  const length = min + (max - min) * stage.random() ** 2;
  await sleep(Math.min(longestMs, length));
  await lift?.();
}

const rowCount = async ({ database }: World): Promise<number> => {
  const [row] = await database.query<{ rows: number }>('select count(*)::int as rows from usage_cost_events');
  return row?.rows ?? 0;
};

const plainOwners: readonly Owner[] = ['free', 'hard', 'limited', 'team'];

/** Waits until every replica serves every owner again, without intervention. */
async function recovered(world: World, load: MixedLoad): Promise<void> {
  await allServe(world);
  const model = modelNamed('quick');
  await Promise.all(
    world.replicas.flatMap(({ number }) =>
      plainOwners.map(async (owner) => {
        let last: Sent | undefined;
        await eventually(async () => {
          const asked = { requestId: '', owner, family: 'chat', model, stream: true } as const;
          last = await load.ask(asked, number);
          if (last.outcome.fate === 'complete') return true;
          await sleep(100);
          return undefined;
        }, recoveryMs).catch(() => {
          throw new Error(
            `replica ${number} does not serve ${owner}: ${last?.outcome.fate} ${last?.outcome.code}`,
          );
        });
      }),
    ),
  );
}

/** The number of ids that are sent again. */
const triedAgain = 6;
/** A claim of a dead process expires after some 5 seconds. */
const claimMs = 15_000;

/** Checks that an id without a ledger row can be sent again, and then gets a complete answer. */
async function reusable(world: World, load: MixedLoad): Promise<void> {
  const named = load.sent.filter(({ requestId, owner }) => requestId !== '' && owner !== 'tight');
  const byId = Map.groupBy(named, ({ requestId }) => requestId);
  const lost = [...byId].filter(([, sent]) => sent.every(({ outcome }) => outcome.fate !== 'complete'));
  const accountedFor = new Set(
    (
      await world.database.query<{ request_id: string }>(
        'select request_id from usage_cost_events where request_id = any ($1)',
        [lost.map(([id]) => id)],
      )
    ).map(({ request_id }) => request_id),
  );
  const nothing = lost.filter(([id]) => !accountedFor.has(id)).slice(0, triedAgain);
  for (const [, [first]] of nothing) {
    if (first === undefined) continue;
    const model = modelNamed('quick');
    let last: Sent | undefined;
    await eventually(async () => {
      last = await load.ask({ ...first, model }, 0);
      if (last.outcome.fate === 'complete') return true;
      await sleep(200);
      return undefined;
    }, claimMs).catch(() => {
      throw new Error(`the id ${first.requestId} cannot be used again: ${last?.outcome.code}`);
    });
  }
}

/** Waits until the journals are empty and no gateway has an open transaction. */
async function quiet({ database, journals }: World): Promise<void> {
  let left = '';
  await eventually(async () => {
    const files = (await Promise.all(journals.map((at) => readdir(at).catch(() => [])))).flatMap(
      (names, index) => names.map((name) => path.join(String(index), name)),
    );
    const busy = await database.query<{ query: string; state: string }>(
      `select state, left(query, 80) as query from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
         and state like 'idle in transaction%'`,
    );
    left = JSON.stringify([files, busy]);
    return files.length + busy.length === 0 ? true : undefined;
  }, quietMs).catch(() => {
    throw new Error(`it does not become quiet: ${left}`);
  });
}
