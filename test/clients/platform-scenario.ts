import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { eventually, finalTracesIn, outcomesOf, tracesIn } from '../e2e/traces.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import type { PlatformServer, SeenCall } from '../support/platform-server.ts';
import { timed } from '../support/undisturbed.ts';
import { refusals as allRefusals, type Refusal, withoutFaultCode } from './scenario.ts';

/** A route to a model of a platform, and its properties. */
export interface PlatformRoute {
  /** Models are named `<id>-<behaviour>`. */
  readonly id: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** More members of the route. */
  readonly route?: object;
  /** Whether it can stream, and follow a schema. */
  readonly streams: boolean;
  readonly schemas: boolean;
  /** Whether the upstream speaks the messages format, so that messages bodies are not translated. */
  readonly native: boolean;
  /** The simulated model repeats all of several tool results if they are one turn, else only the last. */
  readonly hears: 'all' | 'last';
  /** Prompt tokens if the upstream reports 100, and 40 cached: as part of them (100) or beside them (140). */
  readonly cachedPrompt: 100 | 140;
  /** The upstream's own codes of failures; other failures have the gateway's code. */
  readonly codes?: Readonly<Partial<Record<Behaviour, string>>>;
}

/** The code of a rate limit in chat-style upstreams and the responses API. */
export const chatStyleCodes = { limited: 'rate_limit_exceeded' } as const;

/** The behaviour of a route's models, as directives of the simulated upstream. */
const behaviours = {
  plain: '',
  cached: 'prompt-tokens=100&completion-tokens=7&cached-tokens=40',
  caching: 'tools&prompt-tokens=100&completion-tokens=7&cached-tokens=40&cache-write-tokens=20',
  uncounted: 'usage=none',
  tools: 'tools',
  parallel: 'parallel-tools',
  empty: 'tools&tool-arguments={}',
  reasoning: 'reasoning',
  'reasoning-tools': 'reasoning&tools',
  endless: 'chunk-delay-ms=20&chunks=1000',
  silent: 'hang=headers',
  refuses: 'status=400&message=The messages are too long.',
  'unknown-there': 'status=404&message=There is no such deployment.',
  limited: 'status=429&retry-after=3&message=Slow down.',
  'our-fault': 'status=401&message=Incorrect API key provided.',
  fails: 'status=500&message=The model is broken.',
  away: 'status=503&message=The model is away.',
  'falls-over': 'error-at=2&message=The model fell over.',
  'breaks-off': 'break=2',
  'cut-short': 'cut=2',
  malformed: 'garbage=2',
  'ends-early': 'eof=2',
  'tools-fall-over': 'tools&error-at=2&message=The model fell over.',
} as const;

export type Behaviour = keyof typeof behaviours;

/** Refusals of an upstream: those of the gateway are the same on every route. */
export const upstreamRefusals: readonly (Refusal & { readonly model: Behaviour })[] = allRefusals.flatMap(
  (refusal) => (refusal.code === 'upstream_error' ? [{ ...refusal, model: refusal.model as Behaviour }] : []),
);

/** A class of errors, with any constructor. */
export type ClassOf = abstract new (...from: never[]) => Error;

/** A platform that was started for a suite. */
export interface StartedPlatform {
  readonly servers: readonly PlatformServer[];
  readonly providers: readonly object[];
  /** Texts that must not be stored anywhere. */
  readonly secrets: () => readonly string[];
  readonly close: () => Promise<void>;
}

interface Scene {
  readonly routes: readonly PlatformRoute[];
  readonly start: () => Promise<StartedPlatform>;
  /** More models, each of a provider and an upstream model that may have a price. */
  readonly models?: readonly { readonly id: string; readonly routes: readonly object[] }[];
}

/** A token's price in picodollars, for every model. */
const price = { prompt: 150_000n, completion: 600_000n };

/** The call that a row describes. */
interface Call {
  readonly route: PlatformRoute;
  readonly operation: 'chat_completions' | 'messages' | 'responses';
  readonly stream: boolean;
}

/** A complete gateway in front of a platform, for a suite of client libraries. */
export function platformScenario({ routes, start, models = [] }: Scene) {
  const database = withDatabase();
  const query = queries(database.url);
  const key = aKey();
  let platform: StartedPlatform;
  let gateway: TestGateway;

  beforeAll(async () => {
    platform = await start();
    gateway = await startGateway(
      {
        server: { bind: '127.0.0.1:0' },
        providers: platform.providers,
        models: [...routes.flatMap(modelsOf), ...models],
        pricing: { overrides: pricesOf(routes) },
        users: [{ email: 'a@example.com', name: 'A' }],
        api_keys: [{ name: 'good', owner: 'user:a@example.com', value: key }],
      },
      database.url(),
    );
  });
  afterAll(async () => {
    await gateway?.stop();
    await platform?.close();
  });
  beforeEach(() => {
    for (const { seen } of platform.servers) seen.length = 0;
  });

  const traceOf = tracesIn(query);
  const sum = (count: (server: PlatformServer) => number): number =>
    platform.servers.reduce((total, server) => total + count(server), 0);
  const inFlight = (): number => sum((server) => server.inFlight());
  const aborted = (): number => sum((server) => server.aborted());
  /** Waits for the end of the request: a failure is sent, or a client disconnects, before the rows exist. */
  const logged = finalTracesIn(query, () => gateway);
  const seen = (): readonly SeenCall[] => platform.servers.flatMap((server) => server.seen);

  return {
    key,
    url: () => gateway.url,
    traceOf,
    /** The calls that have reached the platform in this test. */
    seen,
    /** The body of the last of them. */
    sent: () => seen().at(-1)?.body,

    /** One successful attempt, and one ledger row with exactly this usage and its price. */
    expectSold: async (
      requestId: string | null | undefined,
      { route, operation, stream }: Call,
      usage: { readonly prompt: number; readonly completion: number } | 'usage_missing',
    ): Promise<void> => {
      const { logs, attempts, ledger } = await traceOf(requestId ?? 'there is no request id');
      expect(logs).toEqual([
        expect.objectContaining({
          status_code: 200,
          error_code: null,
          provider_key: route.provider,
          metadata_json: expect.objectContaining({ operation, stream }),
        }),
      ]);
      expect(attempts).toEqual([
        expect.objectContaining({
          status: 'success',
          provider_key: route.provider,
          upstream_model: route.upstreamModel,
          stream,
        }),
      ]);
      expect(ledger).toEqual([
        expect.objectContaining(usage === 'usage_missing' ? missing : pricedAs(usage)),
      ]);
      expect(outcomesOf(gateway, requestId ?? '')).toMatchObject([{ outcome: 'success', status: 200 }]);
    },

    /** A failed request: one log row, and no ledger row. */
    expectFailed: async (
      requestId: string | null | undefined,
      status: number,
      attempt: { readonly status: string; readonly error_detail: unknown } | undefined,
    ): Promise<void> => {
      const { logs, attempts, ledger } = await logged(requestId ?? 'there is no request id');
      expect(logs).toMatchObject([
        { status_code: status, error_code: attempt === undefined ? 'invalid_request' : 'upstream_error' },
      ]);
      expect(attempts.map(withoutFaultCode)).toEqual(
        attempt === undefined ? [] : [expect.objectContaining(attempt)],
      );
      expect(ledger).toEqual([]);
    },

    /** `leave` ends a call in flight: the upstream request is aborted at once, and the log row has 499. */
    expectCancelled: async (requestId: string, leave: () => void | Promise<void>): Promise<void> => {
      await eventually(() => (inFlight() === 1 ? true : undefined));
      const before = aborted();
      const { ms } = await timed(async () => {
        await leave();
        await eventually(() => (aborted() === before + 1 ? true : undefined));
      });
      // It takes milliseconds on a quiet machine; suites share their cores with others.
      expect(ms).toBeLessThan(1000);
      const { logs } = await logged(requestId);
      expect(logs).toMatchObject([{ status_code: 499, error_code: 'client_closed' }]);
      expect(outcomesOf(gateway, requestId)).toMatchObject([{ outcome: 'client_closed', status: 499 }]);
    },

    /** Waits until a call has reached the platform. */
    arrived: () => eventually(() => (inFlight() > 0 ? true : undefined)),

    /** No token, key or signature is in any table or any line of the log. */
    expectNoSecretKept: async (): Promise<void> => {
      const tables = await query<{ name: string }>(
        `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
         where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
      );
      const kept: string[] = [JSON.stringify(gateway.log.lines)];
      for (const { name } of tables) {
        const rows = await query<{ row: string }>(`select t::text as row from ${name} t`);
        kept.push(rows.map(({ row }) => row).join('\n'));
      }
      const all = kept.join('\n');
      // This shows that the search works: the names of models are found.
      expect(all).toContain(routes[0]?.upstreamModel);
      const secrets = platform.secrets();
      expect(secrets.length).toBeGreaterThan(0);
      for (const secret of secrets) expect(all.includes(secret) ? `${secret.slice(0, 12)}…` : '').toBe('');
    },
  };
}

export type PlatformScenario = ReturnType<typeof platformScenario>;

const modelsOf = ({ id, provider, upstreamModel, route = {} }: PlatformRoute) =>
  Object.entries(behaviours).map(([name, directives]) => ({
    id: `${id}-${name}`,
    routes: [
      {
        provider,
        upstream_model: upstreamModel,
        ...(directives === '' ? {} : { extra_headers: { 'x-simulate': directives } }),
        ...route,
      },
    ],
  }));

/** One price for each pair of a provider and an upstream model. */
const pricesOf = (routes: readonly PlatformRoute[]) =>
  [...new Set(routes.map(({ provider, upstreamModel }) => JSON.stringify([provider, upstreamModel])))].map(
    (pair) => {
      const [provider, model] = JSON.parse(pair) as [string, string];
      return { provider, model, input_usd_per_million: '0.15', output_usd_per_million: '0.60' };
    },
  );

const missing = { pricing_status: 'usage_missing', cost_picousd: null };

const pricedAs = ({ prompt, completion }: { readonly prompt: number; readonly completion: number }) => ({
  pricing_status: 'priced',
  prompt_tokens: String(prompt),
  completion_tokens: String(completion),
  total_tokens: String(prompt + completion),
  cost_picousd: String(BigInt(prompt) * price.prompt + BigInt(completion) * price.completion),
});
