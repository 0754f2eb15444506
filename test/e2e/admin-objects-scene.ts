import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { type AdminAnswer, type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { timed } from '../support/undisturbed.ts';

export const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

export type Item = Readonly<Record<string, unknown>>;

/** `data` of an answer; throws unless its status is 200. */
export function dataOf({ status, data, text }: AdminAnswer): Item {
  if (status !== 200) throw new Error(text);
  return data as Item;
}

/** The items of a page. */
export const itemsOf = (answer: AdminAnswer): readonly Item[] => dataOf(answer)['items'] as readonly Item[];

/** Two replicas of one gateway: the admin uses the first one, callers use both. */
export function adminObjectsScene() {
  const key = aKey();
  const database = withDatabase();
  const query = queries(database.url);
  const replicas: TestGateway[] = [];
  let upstream: SimulatedUpstream;
  let client: AdminClient;
  const config = (more: ConfigFile = {}): ConfigFile =>
    basicConfig(upstream.url, key, {
      more: {
        service_accounts: [{ id: 'ci', team: 'platform' }],
        users: [{ email: 'a@example.com', name: 'A', team: 'platform', team_role: 'owner' }],
        ...more,
      },
    });
  beforeAll(async () => {
    upstream = await startSimulatedUpstream({ port: 0 });
    for (let count = 0; count < 2; count += 1) replicas.push(await startGateway(config(), database.url()));
    await makeAdmin(database.url());
    client = await adminClient(replicas[0]!.url);
  });
  afterAll(async () => {
    for (const replica of replicas) await replica.stop();
    await upstream?.close();
  });
  const admin: AdminClient = (...asked) => client(...asked);

  /** The status of a model call with this key at each replica. */
  const statuses = (secret: string): Promise<readonly number[]> =>
    Promise.all(
      replicas.map(async ({ url }) => {
        const answer = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hi' }] }),
        });
        await answer.text();
        return answer.status;
      }),
    );

  /** Waits until both replicas answer with this status; fails after 5 seconds, not counting pauses of the machine. */
  async function soon(secret: string, status: number): Promise<void> {
    await timed(async (soFarMs) => {
      for (;;) {
        const found = await statuses(secret);
        if (found.every((each) => each === status)) return;
        if (soFarMs() > 5000) throw new Error(`${status} was wanted, but it is ${found.join(', ')}`);
      }
    });
  }

  const aUser = async (over: object = {}): Promise<Item> =>
    dataOf(await admin('POST', '/api/v1/admin/users', { email: `${randomUUID()}@example.com`, ...over }));

  /** A new key of a new user, unless another owner is given. */
  async function aKeyOf(over: object = {}): Promise<Item & { readonly api_key: string }> {
    const owner =
      'owner_id' in over ? {} : { owner_kind: 'user', owner_id: (await aUser())['user_id'] as string };
    const made = dataOf(await admin('POST', '/api/v1/admin/api-keys', { name: 'K', ...owner, ...over }));
    return { ...made, api_key: String(made['api_key']) };
  }

  const eventsOf = async (targetId: unknown): Promise<readonly Item[]> =>
    itemsOf(await admin('GET', `/api/v1/admin/events?target_id=${encodeURIComponent(String(targetId))}`));

  return {
    query,
    database,
    replicas,
    admin,
    config,
    key,
    statuses,
    soon,
    aUser,
    aKeyOf,
    eventsOf,
  };
}
