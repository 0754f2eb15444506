import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { callers, type LoadOutcome } from '../../support/load.ts';
import type { LoadFamilyName } from '../../support/load-families.ts';
import { randomFrom } from '../../support/seeded.ts';
import { brokenModels, models, type Owner, owners, type SceneModel, soundModels } from './scene.ts';
import type { World } from './world.ts';

/** Concurrent callers, each with one request at a time. */
const callersAtOnce = 20;

/** Longer than any timeout of a gateway: a caller without an answer by then will not get one. */
const patienceMs = 60_000;

/** One request, and its outcome for the caller. */
export interface Sent {
  /** Empty if the gateway chose the id and the answer did not arrive. */
  readonly requestId: string;
  readonly owner: Owner;
  readonly family: LoadFamilyName;
  readonly model: SceneModel;
  readonly stream: boolean;
  readonly replica: number;
  readonly outcome: LoadOutcome;
}

export type Asked = Omit<Sent, 'outcome' | 'replica'>;

export const one = <A>(random: () => number, list: readonly A[]): A => {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error('an empty list');
  return chosen;
};

const familyNames: readonly LoadFamilyName[] = ['chat', 'chat', 'messages', 'responses', 'embeddings'];

export const modelNamed = (id: string): SceneModel => {
  const found = models.find((model) => model.id === id);
  if (found === undefined) throw new Error(`there is no model ${id}`);
  return found;
};
const quick = modelNamed('quick');

function draw(random: () => number, broken: number): Asked {
  const family = one(random, familyNames);
  const chosen = random();
  return {
    // The gateway chooses one in ten, and one in ten is long.
    requestId: chosen < 0.1 ? '' : chosen < 0.2 ? `${randomUUID()}-${'x'.repeat(700)}` : randomUUID(),
    owner: one(random, owners),
    family,
    // Most of them are short.
    model:
      random() < broken ? one(random, brokenModels) : (soundModels[Math.floor(3 * random() ** 2)] ?? quick),
    stream: family !== 'embeddings' && random() < 0.6,
  };
}

export interface MixedLoad {
  readonly sent: readonly Sent[];
  /** The number of answers so far. */
  readonly answered: () => number;
  /** Sets the share of broken answers of the upstream from now on. */
  readonly breakAnswers: (share: number) => void;
  /** Sends a single request. */
  readonly ask: (asked: Asked, replica: number) => Promise<Sent>;
  /** Sends no more requests; resolves when all have their answers. */
  readonly stop: () => Promise<void>;
  readonly close: () => void;
}

/** Callers of all families and owners that send to any listening replica until they are stopped. */
export function mixedLoad({ replicas, keys }: World, seed: number): MixedLoad {
  const load = callers(patienceMs);
  const sent: Sent[] = [];
  let broken = 0.05;
  const over = new AbortController();

  const ask = async (asked: Asked, replica: number): Promise<Sent> => {
    const url = replicas[replica]?.url() ?? 'http://127.0.0.1:9';
    const { requestId, owner, family, model, stream } = asked;
    const request = { requestId, key: keys[owner], family, model: model.id, stream };
    const outcome = await load.send(url, request);
    const told = outcome.headers['x-request-id'];
    const done = {
      ...asked,
      requestId: requestId === '' && typeof told === 'string' ? told : requestId,
      replica,
      outcome,
    };
    sent.push(done);
    return done;
  };
  const caller = async (number: number): Promise<void> => {
    const random = randomFrom(seed * 1009 + number);
    while (!over.signal.aborted) {
      const asked = draw(random, broken);
      const to = Math.floor(random() * replicas.length);
      const isTwin = asked.requestId !== '' && random() < 0.05;
      const [first] = await Promise.all([
        ask(asked, to),
        ...(isTwin ? [ask(asked, (to + 1) % replicas.length)] : []),
      ]);
      const failed = first?.outcome.fate !== 'complete';
      await sleep(10 + random() * (failed ? 100 : 30));
      // As agents do; a refused id has no rows.
      if (failed && asked.requestId !== '' && random() < 0.3)
        await ask(asked, Math.floor(random() * replicas.length));
    }
  };
  const all = Promise.all(Array.from({ length: callersAtOnce }, (_, number) => caller(number)));
  return {
    sent,
    answered: () => sent.length,
    breakAnswers: (share) => {
      broken = share;
    },
    ask,
    stop: async () => {
      over.abort();
      await all;
    },
    close: load.close,
  };
}
