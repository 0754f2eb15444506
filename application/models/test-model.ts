import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type Caller, ownershipScopeKey } from '../../domain/identity/caller.ts';
import { withoutSecrets } from '../../domain/payload/secrets.ts';
import { isLogged } from '../../domain/request-log/capture-policy.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';
import { type Model, routeIdOf } from '../../domain/routing/model.ts';
import { resolveRoute } from '../../domain/routing/resolve-route.ts';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import { parseJson } from '../../domain/shared/json.ts';
import { chatCompletions, embeddings, messages, responses } from '../families.ts';
import type { ModelAnswer, ModelRequest } from '../model-request.ts';
import type { AdminActor } from '../ports/admin-events.ts';
import type { CatalogueSnapshot } from '../ports/catalogue.ts';
import type { AdmitTest, ModelTest, ModelTests, RecordedTest, TestSlot } from '../ports/model-tests.ts';
import type { FinishedRequest, RequestTelemetry, Telemetry } from '../ports/telemetry.ts';
import type { ServePolicy, ServePorts } from '../serve-ports.ts';
import { serveModelRequest } from '../serve-model-request.ts';
import type { Digest } from '../../domain/shared/digest.ts';
import { capabilityOf, type TestedFamily, tinyBody, wordsOf } from './tiny-request.ts';

export interface TestModelPorts extends ServePorts {
  readonly modelTests: ModelTests;
  readonly enter: AdmitTest;
  readonly telemetry: Telemetry;
  readonly digest: Digest;
}

export interface TestRequest extends Omit<ModelTest, 'family' | 'requestId'> {
  /** `undefined` for the first family that a route can serve. */
  readonly family: TestedFamily | undefined;
}

/** The outcome of a test: what telemetry recorded, and the text of the answer or the error. */
export interface TestResult {
  readonly family: TestedFamily;
  readonly finished: FinishedRequest;
  readonly error: GatewayError | undefined;
  /** `undefined` when the owner's requests are not logged. */
  readonly requestLogId: RequestLogId | undefined;
  /** The first 200 characters of the answer's text; `undefined` when it has none. */
  readonly text: string | undefined;
}

const maxTextChars = 200;

/**
 * Sends one tiny request over one route of a model, like a caller's request: budgets apply, and it leaves its own
 * ledger row and log row. Nobody else waits for the answer, so it is not drained once its time is over.
 */
export const testModel =
  (ports: TestModelPorts, policy: () => ServePolicy) =>
  async (requested: TestRequest, actor: AdminActor): Promise<Either<GatewayError, TestResult>> => {
    const room = ports.enter(ownershipScopeKey(requested.owner));
    if (E.isLeft(room)) return room;
    try {
      const snapshot = chosenRoute(ports.catalogue.snapshot(), requested);
      const family = requested.family ?? servedFamily(snapshot, requested.modelKey);
      const requestId = ports.clock.newId();
      const recorded = await ports.modelTests.record({ ...requested, family, requestId }, actor);
      if (recorded.kind !== 'recorded') return E.left(unknownPart[recorded.kind]);
      const caller: Caller = { apiKeyId: undefined, keyOwner: recorded.keyOwner, allowedModels: [] };
      return E.right(
        await sent(ports, policy, snapshot, { ...requested, family, requestId, caller }, room.right),
      );
    } finally {
      room.right.leave();
    }
  };

const unknownPart: Readonly<Record<Exclude<RecordedTest['kind'], 'recorded'>, GatewayError>> = {
  no_model: { code: 'not_found', message: 'There is no model of this id.', param: 'model_id' },
  no_route: invalidRequest(
    '`route_position` must be the position of a route of this model.',
    'route_position',
  ),
  no_owner: invalidRequest('`owner_id` must be the id of an active owner of this kind.', 'owner_id'),
};

/** The catalogue with only this model, and of its routes only the chosen one; a disabled model has none. */
function chosenRoute(
  snapshot: CatalogueSnapshot,
  { modelKey, routePosition }: TestRequest,
): CatalogueSnapshot {
  const { createdAt = new Date(0), routes = [] } = snapshot.models.get(modelKey) ?? {};
  const chosen = routes.filter(
    ({ routeId }) => routePosition === undefined || routeId === routeIdOf(modelKey, routePosition),
  );
  const model: Model = { id: modelKey, createdAt, routes: chosen };
  return { ...snapshot, models: new Map([[modelKey, model]]) };
}

/**
 * The first family that a route can serve. For a model without a usable route it is chat, which is then refused with
 * the reason.
 */
function servedFamily({ models, provider }: CatalogueSnapshot, modelKey: string): TestedFamily {
  const model = models.get(modelKey);
  const served = (['chat_completions', 'responses', 'embeddings'] as const).find(
    (family) => model !== undefined && E.isRight(resolveRoute(model, [capabilityOf[family]], provider)),
  );
  return served ?? 'chat_completions';
}

interface TestToSend extends TestRequest {
  readonly family: TestedFamily;
  readonly requestId: RequestId & RequestLogId;
  readonly caller: Caller;
}

async function sent(
  ports: TestModelPorts,
  policyNow: () => ServePolicy,
  snapshot: CatalogueSnapshot,
  { modelKey, family, requestId, caller }: TestToSend,
  { memory, link }: TestSlot,
): Promise<TestResult> {
  const policy = (): ServePolicy => ({ ...policyNow(), drainOnDisconnect: 'never' });
  const serve = serveModelRequest({ ...ports, catalogue: { snapshot: () => snapshot } }, policy);
  const begun = ports.telemetry.begin({ family, scheme: 'http', userAgent: undefined, traceContext: {} });
  const overheard = overhear(begun);
  const request: ModelRequest = {
    requestLogId: requestId,
    requestId,
    callerChoseRequestId: false,
    receivedAt: ports.clock.now(),
    caller,
    tags: E.right({ service: 'gateway', component: 'model-test', env: undefined, bespoke: [] }),
    userAgent: undefined,
    headers: {},
    callerKey: [],
    telemetry: overheard.telemetry,
    betas: [],
    body: E.right(JSON.stringify(tinyBody[family](modelKey))),
    memory,
    link,
  };
  try {
    const answer = await serveFamily[family](serve, request, ports.digest);
    return {
      family,
      finished: overheard.finished(),
      error: answer.kind === 'refused' ? answer.error : undefined,
      requestLogId: isLogged(policy().payloads.captureMode, caller) ? requestId : undefined,
      text: shownText(family, answer, policy()),
    };
  } finally {
    begun.over(undefined);
  }
}

type Serve = ReturnType<typeof serveModelRequest>;

const serveFamily: Record<
  TestedFamily,
  (serve: Serve, request: ModelRequest, digest: Digest) => Promise<ModelAnswer>
> = {
  chat_completions: (serve, request) => serve(chatCompletions, request),
  messages: (serve, request) => serve(messages, request),
  responses: (serve, request, digest) => serve(responses(digest), request),
  embeddings: (serve, request) => serve(embeddings, request),
};

/** An upstream may echo the gateway's own credentials, which must not be shown. */
function shownText(
  family: TestedFamily,
  answer: ModelAnswer,
  { redaction }: ServePolicy,
): string | undefined {
  if (answer.kind !== 'whole') return undefined;
  const { text } = answer;
  const words = wordsOf(
    family,
    parseJson(text instanceof Uint8Array ? new TextDecoder().decode(text) : text),
  );
  return words === undefined
    ? undefined
    : withoutSecrets(words, redaction.secrets).slice(0, maxTextChars).toWellFormed();
}

/** Passes telemetry on as for any request, and captures the outcome as the result of the test. */
function overhear(inner: RequestTelemetry): {
  readonly telemetry: RequestTelemetry;
  readonly finished: () => FinishedRequest;
} {
  let outcome: FinishedRequest | undefined;
  return {
    telemetry: {
      during: (step, work) => inner.during(step, work),
      upstream: (resolved) => inner.upstream(resolved),
      finished: (request) => {
        outcome ??= request;
        inner.finished(request);
      },
      over: (status) => inner.over(status),
    },
    finished: () => {
      if (outcome === undefined) throw new Error('A request that was served has an outcome.');
      return outcome;
    },
  };
}
