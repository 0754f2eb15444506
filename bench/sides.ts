// What `npm run bench` puts under load: each gateway has its own PostgreSQL, so that its CPU is measured apart.
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { layOutPackage } from '../test/deploy/laid-out-package.ts';
import { type Answered, closedLoop, openLoop, percentile, type Target } from './load.ts';
import { startOtlpSink } from './otlp-sink.ts';
import { type InstalledPeer, startPeer } from './peers.ts';
import { databaseMicros, type Measured, type Resident, root, start, startUpstream } from './processes.ts';
import { bodyOf, type Family, familyPaths, type Model, upstreamModels } from './requests.ts';
import { type Load, type Measure, type Scenario, scaled, type SideName } from './scenarios.ts';
import { aKey } from '../test/support/a-key.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

export type Sample = Readonly<Partial<Record<Measure, number>>>;

/** A subject that is measured in turn with others. */
export interface Side {
  readonly name: SideName;
  /** Fails at once if a request of the scenario is not answered, rather than in the middle of a long run. */
  readonly tried: (scenario: Scenario) => Promise<void>;
  /** Sends requests until nothing is compiled any more: before that they take up to three times the CPU. */
  readonly warmedUp: () => Promise<void>;
  readonly sample: (scenario: Scenario, scale: number) => Promise<Sample>;
  /** `undefined` without a process of its own. */
  readonly resident: (() => Resident) | undefined;
}

const key = aKey();

/** The configuration of a gateway. */
interface Profile {
  readonly capture: 'disabled' | 'summary_only' | 'redacted_payloads';
  /** A hard budget, which is checked at each request and never reached. */
  readonly budgeted: boolean;
  /** Metrics, and spans for a tenth of the requests. */
  readonly telemetry: boolean;
  readonly workers: number;
}

const full: Profile = { capture: 'redacted_payloads', budgeted: true, telemetry: true, workers: 1 };
const profiles = {
  'pass-through': { capture: 'disabled', budgeted: false, telemetry: false, workers: 1 },
  budgeted: { capture: 'summary_only', budgeted: true, telemetry: false, workers: 1 },
  full,
  'full, two workers': { ...full, workers: 2 },
} as const satisfies Record<string, Profile>;

type ProfileName = keyof typeof profiles;

const exportSeconds = 1;
/** Work that follows the answers of a load ends within this time, including one export: it belongs to that load. */
const aftermathMs = 1200;

const models = Object.entries(upstreamModels);

const config = (upstreamUrl: string, sinkUrl: string, { capture, budgeted, telemetry }: Profile) => ({
  server: {
    bind: '127.0.0.1:0',
    ...(telemetry
      ? { otel_endpoint: sinkUrl, otel_trace_sample_ratio: 0.1, otel_export_interval_secs: exportSeconds }
      : {}),
  },
  request_logging: { payloads: { capture_mode: capture } },
  pricing: {
    overrides: models.map(([, model]) => ({
      provider: 'simulated',
      model,
      input_usd_per_million: '0.15',
      output_usd_per_million: '0.60',
    })),
  },
  providers: [{ id: 'simulated', type: 'compat', base_url: upstreamUrl, auth: { mode: 'none' } }],
  models: models.map(([id, upstream_model]) => ({
    id,
    routes: [
      { provider: 'simulated', upstream_model, compatibility: { compat: { supports_stream_usage: true } } },
    ],
  })),
  users: [
    {
      email: 'bench@example.com',
      name: 'Bench',
      ...(budgeted
        ? { budget: { cadence: 'monthly', amount_10000: Number.MAX_SAFE_INTEGER, hard_limit: true } }
        : {}),
    },
  ],
  api_keys: [{ name: 'bench', owner: 'user:bench@example.com', value: key }],
});

/** A serving process and the database of its rows. */
interface Server {
  readonly process: Measured;
  readonly workers: number;
  readonly databaseMicros: (() => number) | undefined;
}

/** How requests to a server are made. */
interface Manner {
  readonly family: Family;
  readonly headers: Target['headers'];
  readonly nameOf: (model: Model) => string;
}

const toUpstream: Manner = { family: 'chat', headers: {}, nameOf: (model) => upstreamModels[model] };
const toGateway: Manner = {
  family: 'chat',
  headers: { authorization: `Bearer ${key}` },
  nameOf: (model) => model,
};

const under = (load: Load, target: Target, body: Buffer): Promise<readonly Answered[]> =>
  'callers' in load
    ? closedLoop(target, body, load.callers, load.requests)
    : openLoop(target, body, load.perSecond, load.seconds);

/** Small chats per serving process. */
const warmingRequests = 30_000;

function served(
  name: SideName,
  { process, databaseMicros, workers }: Server,
  { family, headers, nameOf }: Manner,
): Side {
  const target = { url: process.url, path: familyPaths[family], headers };
  return {
    name,
    resident: process.resident,
    tried: async ({ name: scenario, request }) => {
      await closedLoop(target, bodyOf(request, family, nameOf), 1, 1).catch((error: unknown) => {
        throw new Error(`${name} does not take the requests of ${scenario}`, { cause: error });
      });
    },
    warmedUp: async () => {
      await closedLoop(target, bodyOf('small', family, nameOf), 32, workers * warmingRequests);
    },
    sample: async ({ load, request, unitsPerRequest, measures }, scale) => {
      const body = bodyOf(request, family, nameOf);
      const before = { cpu: process.cpuMicros(), database: databaseMicros?.() ?? 0 };
      const answers = await under(scaled(load, scale), target, body);
      if (databaseMicros !== undefined && measures.includes('cpu')) await sleep(aftermathMs);
      const units = answers.length * unitsPerRequest;
      const whole = answers.map(({ wholeMs }) => wholeMs);
      const first = answers.map(({ firstByteMs }) => firstByteMs);
      return {
        cpu: (process.cpuMicros() - before.cpu) / units,
        ...(databaseMicros === undefined ? {} : { database: (databaseMicros() - before.database) / units }),
        p50: percentile(whole, 0.5),
        p99: percentile(whole, 0.99),
        firstP50: percentile(first, 0.5),
        firstP99: percentile(first, 0.99),
      };
    },
  };
}

const commits = 300;

/** One committed row after the other, in a database that does nothing else: the time of the commit alone. */
const committed = (client: Client): Side => ({
  name: 'a commit',
  resident: undefined,
  tried: async () => undefined,
  warmedUp: async () => undefined,
  sample: async (_scenario, scale) => {
    const times: number[] = [];
    for (let n = 0; n < commits * scale; n += 1) {
      await client.query('begin');
      await client.query('insert into commits default values');
      const startedAt = performance.now();
      await client.query('commit');
      times.push(performance.now() - startedAt);
    }
    return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  },
});

/** Everything that is started, each thing once, and stopped in reverse order. */
export class Stage {
  private readonly ends: AsyncDisposableStack;
  private readonly folder: string;
  private readonly script: string;
  private readonly upstreamUrl: string;
  private readonly sinkUrl: string;
  private readonly peer: InstalledPeer | undefined;
  private readonly gateways = new Map<ProfileName, Server>();
  private closing: Promise<void> | undefined;

  private constructor(
    ends: AsyncDisposableStack,
    at: Readonly<Record<'folder' | 'script' | 'upstreamUrl' | 'sinkUrl', string>>,
    peer: InstalledPeer | undefined,
  ) {
    this.ends = ends;
    this.folder = at.folder;
    this.script = at.script;
    this.upstreamUrl = at.upstreamUrl;
    this.sinkUrl = at.sinkUrl;
    this.peer = peer;
  }

  static async open(peer: InstalledPeer | undefined): Promise<Stage> {
    const ends = new AsyncDisposableStack();
    const folder = await sweptFolder('bench');
    ends.defer(() => rm(folder, { recursive: true, force: true }));
    // As operators run it: in a clone, type stripping also takes memory.
    const script = await layOutPackage(folder);
    const sink = await startOtlpSink();
    ends.defer(sink.close);
    const upstream = await startUpstream(script);
    ends.defer(upstream.stop);
    return new Stage(ends, { folder, script, upstreamUrl: upstream.url, sinkUrl: sink.url }, peer);
  }

  /** May be called more than once: all calls wait for the same end. */
  close(): Promise<void> {
    return (this.closing ??= this.ends.disposeAsync());
  }

  async side(name: SideName): Promise<Side> {
    if (name === 'a commit') return committed(await this.client());
    if (name === 'bare proxy') return served(name, await this.bareProxy(), toUpstream);
    if (name === 'portkey') return this.peerSide(name);
    if (name === 'budgeted, /v1/messages') {
      const asked = served(name, await this.gateway('budgeted'), { ...toGateway, family: 'messages' });
      return { ...asked, resident: undefined };
    }
    return served(name, await this.gateway(name), toGateway);
  }

  private async database(name: string): Promise<{ readonly url: string; readonly micros: () => number }> {
    const dataDir = path.join(this.folder, name, 'database');
    const database = await startEmbeddedPostgres({ dataDir });
    this.ends.defer(() => database.stop());
    return { url: database.url, micros: databaseMicros(dataDir) };
  }

  private async gateway(name: ProfileName): Promise<Server> {
    const there = this.gateways.get(name);
    if (there !== undefined) return there;
    const profile = profiles[name];
    const { url, micros } = await this.database(name);
    const file = path.join(this.folder, name, 'gateway.yaml');
    await writeFile(file, stringify(config(this.upstreamUrl, this.sinkUrl, profile)));
    const process = await start([this.script, 'serve', '--workers', String(profile.workers)], {
      GATEWAY_CONFIG: file,
      DATABASE_URL: url,
      GATEWAY_DATA_DIR: path.join(this.folder, name, 'data'),
    });
    this.ends.defer(process.stop);
    const server = { process, workers: profile.workers, databaseMicros: micros };
    this.gateways.set(name, server);
    return server;
  }

  private async bareProxy(): Promise<Server> {
    const process = await start([path.join(root, 'bench', 'bare-proxy.mjs'), this.upstreamUrl]);
    this.ends.defer(process.stop);
    return { process, workers: 1, databaseMicros: undefined };
  }

  private async peerSide(name: SideName): Promise<Side> {
    if (this.peer === undefined) throw new Error(`${name} was not looked for`);
    const { process, headers } = await startPeer(this.peer, this.upstreamUrl);
    this.ends.defer(process.stop);
    return served(name, { process, workers: 1, databaseMicros: undefined }, { ...toUpstream, headers });
  }

  private async client(): Promise<Client> {
    const { url } = await this.database('commits');
    const client = new Client(url);
    await client.connect();
    this.ends.defer(() => client.end());
    await client.query('create table commits (id bigint generated always as identity primary key)');
    return client;
  }
}
