import { randomUUID } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  chatCompletions,
  countTokens,
  embeddings,
  messages,
  responses,
} from '../../../application/families.ts';
import type {
  CallerLink,
  CallerLoss,
  ModelAnswer,
  ModelRequest,
  WriteEvents,
} from '../../../application/model-request.ts';
import type { ServePolicy, ServePorts } from '../../../application/serve-ports.ts';
import type { Ledger } from '../../../application/ports/ledger.ts';
import type { LinkedRequest, TokenOverheadRecord } from '../../../application/ports/mcp-invocations.ts';
import type { HeldByPayload, KeptPayload } from '../../../application/ports/payloads.ts';
import type { FinishedRequest, RequestTelemetry } from '../../../application/ports/telemetry.ts';
import { serveModelRequest } from '../../../application/serve-model-request.ts';
import type { Budget } from '../../../domain/budget/budget.ts';
import type { Caller } from '../../../domain/identity/caller.ts';
import { priceCatalogue } from '../../../domain/money/price-catalogue.ts';
import { redactionRules } from '../../../domain/payload/redact.ts';
import { noTags } from '../../../domain/request-log/caller-tags.ts';
import type { ApiFamily, Model, RoutingProvider } from '../../../domain/routing/model.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import { textDigest } from '../../../infrastructure/text-digest.ts';
import { aModel, aProvider, aRoute } from '../arbitraries/routing.ts';
import { largeBodiesHere } from './large-bodies-here.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { says, type Script, ScriptedUpstream, turn } from './scripted-upstream.ts';
import { usage } from './stream-chunks.ts';

/** 10 tokens in and 20 out at 0.15 and 0.60 USD per million: what the scripts' `usage` costs. */
export const cost = 13_500_000n;
export const costUsd = '0.0000135';

/** A caller's connection that the test can close. */
export class FakeLink implements CallerLink {
  private why: CallerLoss | undefined;
  private readonly callbacks: ((why: CallerLoss) => void)[] = [];

  lose(why: CallerLoss = 'client_closed'): void {
    if (this.why !== undefined) return;
    this.why = why;
    for (const callback of this.callbacks) callback(why);
  }

  readonly lost: CallerLink['lost'] = () => this.why;
  readonly whenLost: CallerLink['whenLost'] = (callback) => {
    if (this.why === undefined) this.callbacks.push(callback);
    else callback(this.why);
  };
}

export const aCaller = (over: Partial<Caller> = {}): Caller => ({
  apiKeyId: 'key-1',
  keyOwner: { kind: 'user', userId: 'user-1', requestLoggingEnabled: true },
  allowedModels: [],
  ...over,
});

export const aBudget = (over: Partial<Budget> = {}): Budget => ({
  cadence: 'monthly',
  amount: 10n * cost,
  hardLimit: true,
  ...over,
});

const said = [{ role: 'user', content: 'Hi' }];
const bodies = {
  chat_completions: { model: 'fast', messages: said },
  messages: { model: 'fast', max_tokens: 9, messages: said },
  responses: { model: 'fast', input: 'Hi' },
  embeddings: { model: 'fast', input: 'Hi' },
  count_tokens: { model: 'fast', messages: said },
} as const satisfies Record<ApiFamily, JsonObject>;

/** A whole answer from which each family's observer reads usage. */
export const answer: JsonObject = {
  choices: [{ message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage,
};

export interface PipelineOptions {
  readonly family?: ApiFamily;
  readonly stream?: boolean;
  /** More members of the body. */
  readonly asks?: JsonObject;
  readonly script?: Script;
  readonly policy?: Partial<ServePolicy>;
  readonly budget?: Budget;
  readonly request?: Partial<ModelRequest>;
  readonly models?: readonly Model[];
  readonly provider?: Partial<RoutingProvider>;
  readonly unpriced?: boolean;
  /** Prices the model after the request has its route, as if a reload came between. */
  readonly reloaded?: 'unpriced' | 'dearer';
}

const policyOf = (over: Partial<ServePolicy>): ServePolicy => ({
  payloads: {
    captureMode: 'redacted_payloads',
    requestMaxBytes: 65_536,
    responseMaxBytes: 65_536,
    streamMaxEvents: 128,
  },
  redaction: redactionRules([], ['upstream-credential-1']),
  redactionSource: { redactionPaths: [], credentials: ['upstream-credential-1'] },
  bodyMaxValues: 1000,
  duplicateRequestIds: 'allow',
  drainOnDisconnect: 'never',
  drainTimeoutMs: 30_000,
  maxDrains: 10,
  ...over,
});

/** The payload of one request that was kept; `make` creates it. */
interface Kept {
  readonly requestLogId: string;
  readonly make: () => KeptPayload | Promise<KeptPayload>;
  readonly held: HeldByPayload | undefined;
}

/**
 * The pipeline of model requests over ports that record their calls. `told` has all calls in order; the other
 * members have the arguments of each port.
 */
export class Pipeline {
  readonly told: string[] = [];
  readonly ledger = new MemoryLedger();
  readonly upstream: ScriptedUpstream;
  /** What the caller of a stream received. */
  readonly sent: StreamEvent<JsonObject>[] = [];
  readonly finished: FinishedRequest[] = [];
  readonly calls: Parameters<ReturnType<RequestTelemetry['upstream']>['ended']>[] = [];
  readonly payloads: Kept[] = [];
  readonly linked: LinkedRequest[] = [];
  readonly overheads: TokenOverheadRecord[] = [];
  readonly link = new FakeLink();
  readonly caller: Caller;
  /** The gateway's clock. */
  now = Date.parse('2028-03-15T12:00:00Z');
  /** Bytes that the process can still hold. */
  room = 1_000_000;
  private ofAnswer = 0;
  /** Created by the caller when it receives something: its buffer is full until the promise resolves. */
  slow: () => Promise<void> | undefined = () => undefined;
  /** The answer to the last request. */
  answer: ModelAnswer | undefined;
  policy: ServePolicy;
  private readonly options: PipelineOptions;
  private readonly serveRequest: (family: ApiFamily, request: ModelRequest) => Promise<ModelAnswer>;

  constructor(options: PipelineOptions = {}) {
    this.options = options;
    this.policy = policyOf(options.policy ?? {});
    this.caller = options.request?.caller ?? aCaller();
    this.ledger.setBudget(this.caller, options.budget);
    const script = options.script ?? says(answer);
    this.upstream = new ScriptedUpstream(
      () => script,
      (line) => this.told.push(line),
    );
    const serve = serveModelRequest(this.ports(), () => this.policy);
    this.serveRequest = (family, request) => {
      if (family === 'messages') return serve(messages, request);
      if (family === 'responses') return serve(responses(textDigest), request);
      if (family === 'embeddings') return serve(embeddings, request);
      return family === 'count_tokens' ? serve(countTokens, request) : serve(chatCompletions, request);
    };
  }

  /** One request from its arrival to the last byte of its answer. */
  async serve(over: Partial<ModelRequest> = {}): Promise<this> {
    const { family = 'chat_completions', request } = this.options;
    const link = over.link ?? this.link;
    const asked = { ...this.request(family), ...request, link, ...over };
    const answer = await this.serveRequest(family, asked);
    this.answer = answer;
    if (answer.kind === 'stream') await answer.deliver(this.writeTo(link));
    else this.told.push(`caller: ${answer.kind}`);
    return this;
  }

  /** The code of the error that the caller received, whole or in its stream. */
  get refusedWith(): string | undefined {
    const last = this.sent.at(-1);
    if (this.answer?.kind === 'refused') return this.answer.error.code;
    return last?.kind === 'failed' ? last.error.code : undefined;
  }

  /** The kinds of events that the caller of a stream received, with held chunks as such. */
  get sentKinds(): readonly string[] {
    return this.sent.map((event) =>
      event.kind === 'chunk' && event.held === true ? 'held chunk' : event.kind,
    );
  }

  /** The log row of the last request. */
  get log() {
    return this.ledger.logs.at(-1)?.log;
  }

  /** Whether one call was recorded before another; both must have been. */
  before(first: string, second: string): boolean {
    const [from, to] = [this.told.indexOf(first), this.told.indexOf(second)];
    if (from < 0 || to < 0) throw new Error(`not both were told: ${this.told.join(', ')}`);
    return from < to;
  }

  private readonly writeTo =
    (link: CallerLink): WriteEvents =>
    (events) => {
      if (link.lost() === 'client_closed') return undefined;
      for (const event of events) {
        this.sent.push(event);
        const held = event.kind === 'chunk' && event.held === true;
        this.told.push(held ? 'caller: held chunk' : `caller: ${event.kind}`);
      }
      return this.slow();
    };

  private request(family: ApiFamily): ModelRequest {
    const { stream, asks } = this.options;
    const body = { ...bodies[family], ...(stream === undefined ? {} : { stream }), ...asks };
    return {
      requestLogId: randomUUID(),
      requestId: 'request-1',
      callerChoseRequestId: true,
      receivedAt: this.now - 7,
      caller: this.caller,
      tags: E.right(noTags),
      userAgent: undefined,
      headers: { 'content-type': 'application/json' },
      callerKey: ['gwk_aaaaaaaa.callers-own-secret', 'callers-own-secret'],
      telemetry: this.telemetry(),
      betas: [],
      body: E.right(JSON.stringify(body)),
      memory: {
        hold: (bytes) => (this.room -= bytes) >= 0,
        holdUnfinished: (bytes) => bytes <= this.room && (this.ofAnswer = bytes) >= 0,
        heldBytes: () => 4 + this.ofAnswer,
        keep: () => () => void this.told.push('memory let go'),
      },
      link: this.link,
    };
  }

  telemetry(): RequestTelemetry {
    return {
      during: (_step, work) => work(),
      upstream: () => ({
        traceContext: { traceparent: 'of the span' },
        firstContent: () => void this.told.push('first content'),
        ended: (...call) => void this.calls.push(call),
      }),
      finished: (request) => {
        this.told.push(`outcome: ${request.outcome}`);
        this.finished.push(request);
      },
      over: () => undefined,
    };
  }

  ports(): ServePorts {
    const { models = [aModel([aRoute()])], unpriced, reloaded } = this.options;
    const provider: RoutingProvider = {
      ...aProvider('up'),
      takes: (_, family) => (family === 'messages' || family === 'count_tokens' ? undefined : 'as_written'),
      ...this.options.provider,
    };
    const price = {
      inputUsdPerMillion: '0.15',
      outputUsdPerMillion: '0.60',
      effectiveFrom: '2020-01-01T00:00:00Z',
    };
    const priced = { ...price, pricingProviderId: 'up', upstreamModel: 'upstream-fast', source: 'test' };
    const dearer = {
      ...priced,
      upstreamModel: 'upstream-wise',
      inputUsdPerMillion: '3',
      outputUsdPerMillion: '12',
    };
    const snapshot = {
      models: new Map(models.map((model) => [model.id, model])),
      provider: (id: string) => (id === 'up' ? provider : undefined),
      prices: priceCatalogue(unpriced === true ? [] : [priced, dearer], []),
    };
    const present = { ...dearer, upstreamModel: priced.upstreamModel };
    const later = { ...snapshot, prices: priceCatalogue(reloaded === 'dearer' ? [present] : [], []) };
    let asked = 0;
    return {
      catalogue: {
        snapshot: () => {
          asked += 1;
          return reloaded === undefined || asked === 1 ? snapshot : later;
        },
      },
      ledger: this.toldLedger(),
      upstream: this.upstream,
      largeBodies: largeBodiesHere(this.upstream),
      payloads: {
        keep: ({ requestLogId }, make, held) => {
          this.told.push('payload kept');
          this.payloads.push({ requestLogId, make, held });
        },
      },
      clock: { now: () => this.now, newId: () => randomUUID() },
      invocationLinks: { logged: (request) => void this.linked.push(request) },
      mcpOverheads: { put: (record) => void this.overheads.push(record) },
    };
  }

  /** The database takes some time, so that work that does not wait for it is detected. */
  private toldLedger(): Ledger {
    const slowly = async <A>(
      question: string,
      ask: () => Promise<A>,
      word: (answered: A) => string,
    ): Promise<A> => {
      this.told.push(question);
      await turn();
      const answered = await ask();
      this.told.push(word(answered));
      return answered;
    };
    const orLost = <L, A>(found: Either<L, A>, word: (found: A) => string): string =>
      E.isLeft(found) ? 'database lost' : word(found.right);
    return {
      admit: (ask) =>
        slowly(
          'admission asked',
          () => this.ledger.admit(ask),
          (found) => orLost(found, () => 'admitted'),
        ),
      settle: (record) =>
        slowly(
          'settlement asked',
          () => this.ledger.settle(record),
          (found) => orLost(found, ({ kind }) => kind),
        ),
    };
  }
}
