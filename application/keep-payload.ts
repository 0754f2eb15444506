import { redactedResponse, redactedStream, type StoredPayload } from '../domain/payload/payload.ts';
import { withoutHalves } from '../domain/payload/halves.ts';
import { scopeOf } from '../domain/identity/caller.ts';
import { maxBodyBytesHere } from '../domain/shared/limits.ts';
import { forCaller, redactedError, type RedactionRules } from '../domain/payload/redact.ts';
import { withoutSecrets } from '../domain/payload/secrets.ts';
import type { HeldEvents } from '../domain/payload/stream-payload.ts';
import { withFitWords } from '../domain/responses/response-failure.ts';
import type { GatewayError, UpstreamLabels } from '../domain/shared/gateway-error.ts';
import { isString, type Json, type JsonObject } from '../domain/shared/json.ts';
import type { StreamChunk } from '../domain/shared/stream-event.ts';
import type { Observation } from '../domain/upstream/observation.ts';
import { boundedMessage } from '../domain/upstream/upstream-fault.ts';
import type { ModelRequest, ServePolicy } from './model-request.ts';
import type { LargeBodies } from './ports/large-bodies.ts';
import type { KeptPayload } from './ports/payloads.ts';
import type { WholeAnswer } from './ports/upstream.ts';
import type { RequestBody } from './request-body.ts';

/** What the caller was answered: outbound bodies, and an upstream's in other words than the caller's, are not kept. */
export type Answered =
  /** JSON text, or its bytes. */
  | { readonly kind: 'whole'; readonly body: WholeAnswer['text'] }
  | { readonly kind: 'stream'; readonly held: () => HeldEvents };

interface Exchanged {
  readonly request: ModelRequest;
  readonly body: RequestBody;
  readonly answered: Answered | undefined;
  readonly failure: GatewayError | 'client_closed' | undefined;
  readonly usage: Observation['usage'];
}

/** The redacted bodies of a request that has ended. */
export function keptPayload(
  { request, body, ...end }: Exchanged,
  policy: ServePolicy,
  largeBodies: Pick<LargeBodies, 'redactedAnswer'>,
): KeptPayload | Promise<KeptPayload> {
  const rules = rulesFor(request, policy);
  const asked = body.redacted(rules, policy);
  const large = largeAnswer(end);
  const answered =
    large === undefined
      ? response(end, rules, policy)
      : largeBodies.redactedAnswer(
          { scope: scopeOf(request.caller), text: large },
          {
            callerKey: request.callerKey,
            source: policy.redactionSource,
            maxBytes: policy.payloads.responseMaxBytes,
          },
        );
  return asked instanceof Promise || answered instanceof Promise
    ? bothOf(asked, answered)
    : { request: asked, response: answered };
}

type Made = StoredPayload | Promise<StoredPayload>;

const bothOf = async (asked: Made, answered: Made): Promise<KeptPayload> => ({
  request: await asked,
  response: await answered,
});

/** A whole answer that is worked on beside the event loop. */
function largeAnswer({ answered, failure }: Pick<Exchanged, 'answered' | 'failure'>): Uint8Array | undefined {
  if (failure !== undefined || answered?.kind !== 'whole') return undefined;
  const { body } = answered;
  return body.length > maxBodyBytesHere && typeof body !== 'string' ? body : undefined;
}

/** What the answer holds of memory until its payload is made; what is held of a stream is bounded already. */
export const answerBytes = (answered: Answered | undefined): number =>
  answered?.kind === 'whole' ? answered.body.length : 0;

/** The rules of a request, compiled once: what it fails with, its summary and its payload go by the same. */
const compiled = new WeakMap<
  ModelRequest['callerKey'],
  { readonly of: RedactionRules; readonly rules: RedactionRules }
>();

/** The caller's own key survives nowhere either. */
export function rulesFor(
  { callerKey }: Pick<ModelRequest, 'callerKey'>,
  { redaction }: Pick<ServePolicy, 'redaction'>,
): RedactionRules {
  const known = compiled.get(callerKey);
  if (known?.of === redaction) return known.rules;
  const rules = forCaller(redaction, callerKey);
  compiled.set(callerKey, { of: redaction, rules });
  return rules;
}

/** A failure as it may be told and kept: what the caller or the configuration keeps secret is not in it. */
export function withoutSecretsOf(
  error: GatewayError,
  request: Pick<ModelRequest, 'callerKey'>,
  policy: ServePolicy,
): GatewayError {
  const rules = rulesFor(request, policy);
  const { param, upstream } = error;
  const { secrets } = rules;
  return {
    ...error,
    message: withoutHalves(boundedMessage(redactedError(error.message, rules)), secrets),
    ...(param === undefined ? {} : { param: withoutHalves(withoutSecrets(param, secrets), secrets) }),
    ...(upstream?.labels === undefined
      ? {}
      : { upstream: { ...upstream, labels: labelsWithoutSecrets(upstream.labels, rules) } }),
  };
}

/** A label in which something is to be hidden is none: nobody could act on what is left of it. */
const labelsWithoutSecrets = (labels: UpstreamLabels, rules: RedactionRules): UpstreamLabels =>
  Object.fromEntries(
    Object.entries(labels).filter(([, label]: [string, string]) => redactedError(label, rules) === label),
  );

/** The same of events in which an upstream tells of its failure in its own words. */
export function failuresWithoutSecrets(
  events: readonly StreamChunk<JsonObject>[],
  request: Pick<ModelRequest, 'callerKey'>,
  policy: ServePolicy,
): readonly StreamChunk<JsonObject>[] {
  if (events.every(({ failing }) => failing !== true)) return events;
  const rules = rulesFor(request, policy);
  return events.map((event) => {
    const chunk = withFitWords(event.chunk, (words) => redactedError(words, rules));
    if (event.failing !== true || chunk === event.chunk) return event;
    const { type } = chunk;
    const name = event.name ?? (isString(type) ? type : undefined);
    return { ...event, chunk, wire: undefined, text: undefined, name };
  });
}

/** What the caller was told: of a failed request with a whole answer that is the failure alone. */
function response(
  { answered, failure, usage }: Omit<Exchanged, 'request' | 'body'>,
  rules: RedactionRules,
  { payloads: { responseMaxBytes } }: ServePolicy,
): KeptPayload['response'] {
  const error = errorOf(failure);
  if (answered?.kind === 'stream')
    return redactedStream(answered.held(), { usage: usageOf(usage), error }, rules, responseMaxBytes);
  const told = error === undefined ? textOf(answered) : JSON.stringify({ error });
  return redactedResponse(told, rules, responseMaxBytes);
}

function textOf(answered: (Answered & { kind: 'whole' }) | undefined): string | undefined {
  const body = answered?.body;
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : body;
}

function errorOf(failure: Exchanged['failure']): JsonObject | undefined {
  if (failure === undefined) return undefined;
  if (failure === 'client_closed') return { code: failure, message: 'The caller left.' };
  const { code, message, param } = failure;
  return { code, message, ...(param === undefined ? {} : { param }) };
}

const usageOf = (usage: Exchanged['usage']): Json | undefined =>
  usage === undefined
    ? undefined
    : {
        prompt_tokens: usage.promptTokens,
        completion_tokens: usage.completionTokens,
        total_tokens: usage.totalTokens,
      };
