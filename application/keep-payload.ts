import { scopeOf } from '../domain/identity/caller.ts';
import { redactedResponse, redactedStream, type StoredPayload } from '../domain/payload/payload.ts';
import type { RedactionRules } from '../domain/payload/redact.ts';
import type { Json, JsonObject } from '../domain/shared/json.ts';
import { maxEventLoopBodyBytes } from '../domain/shared/limits.ts';
import type { RequestFailure } from '../domain/shared/request-failure.ts';
import type { Observation } from '../domain/upstream/observation.ts';
import type { ServePolicy } from './serve-ports.ts';
import type { LargeBodies } from './ports/large-bodies.ts';
import type { KeptPayload } from './ports/payloads.ts';
import type { Answer } from './request-end.ts';
import type { Facts } from './request-stages.ts';

/** What a caller finally got, after the settlement. */
interface Answered {
  /** The answer that was there for it; `undefined` when none came. */
  readonly answer: Answer | undefined;
  readonly failure: RequestFailure | undefined;
  readonly usage: Observation['usage'];
}

/** The redacted bodies of a request that has ended. */
export function keptPayload(
  { request, body, redaction }: Pick<Facts, 'request' | 'body' | 'redaction'>,
  answered: Answered,
  policy: ServePolicy,
  largeBodies: Pick<LargeBodies, 'redactedAnswer'>,
): KeptPayload | Promise<KeptPayload> {
  const rules = redaction.rules();
  const asked = body.redacted(rules, policy);
  const large = largeAnswer(answered);
  const response =
    large === undefined
      ? responseOf(answered, rules, policy)
      : largeBodies.redactedAnswer(
          { scope: scopeOf(request.caller), text: large },
          {
            callerKey: request.callerKey,
            source: policy.redactionSource,
            maxBytes: policy.payloads.responseMaxBytes,
          },
        );
  return asked instanceof Promise || response instanceof Promise
    ? bothOf(asked, response)
    : { request: asked, response };
}

type Made = StoredPayload | Promise<StoredPayload>;

/** Both are awaited together, because a rejection that nobody awaits would end the process. */
async function bothOf(asked: Made, answered: Made): Promise<KeptPayload> {
  const [request, response] = await Promise.all([asked, answered]);
  return { request, response };
}

/** A whole answer that is redacted in a worker thread. */
function largeAnswer({ answer, failure }: Answered): Uint8Array | undefined {
  if (failure !== undefined || answer?.kind !== 'whole') return undefined;
  const { body } = answer;
  return body.length > maxEventLoopBodyBytes && typeof body !== 'string' ? body : undefined;
}

/** The answer of a failed request is its error; a failed stream also has what was sent before. */
function responseOf(
  { answer, failure, usage }: Answered,
  rules: RedactionRules,
  { payloads: { responseMaxBytes } }: ServePolicy,
): KeptPayload['response'] {
  const error = errorOf(failure);
  if (answer?.kind === 'stream')
    return redactedStream(answer.held(), { usage: usageOf(usage), error }, rules, responseMaxBytes);
  const text = error === undefined ? textOf(answer?.body) : JSON.stringify({ error });
  return redactedResponse(text, rules, responseMaxBytes);
}

const textOf = (body: string | Uint8Array | undefined): string | undefined =>
  body instanceof Uint8Array ? new TextDecoder().decode(body) : body;

function errorOf(failure: RequestFailure | undefined): JsonObject | undefined {
  if (failure === undefined) return undefined;
  const { code, message } = failure;
  const param = failure.code === 'client_closed' ? undefined : failure.param;
  return { code, message, ...(param === undefined ? {} : { param }) };
}

const usageOf = (usage: Observation['usage']): Json | undefined =>
  usage === undefined
    ? undefined
    : {
        prompt_tokens: usage.promptTokens,
        completion_tokens: usage.completionTokens,
        total_tokens: usage.totalTokens,
      };
