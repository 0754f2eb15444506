import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { UpstreamCall } from '../../../application/ports/upstream.ts';
import { fieldError } from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { deepMerge, isAbsent, type Json, type JsonObject, isTexts } from '../../../domain/shared/json.ts';
import { withReasoning } from './reasoning.ts';
import { type BodyRules, isIdleBeta } from './rules.ts';

/** The parts of a call from which its body is written. */
export type BodyCall = Pick<UpstreamCall, 'body' | 'stream' | 'betas'> & {
  readonly route: Pick<
    UpstreamCall['route'],
    'upstreamModel' | 'compatibility' | 'capabilities' | 'extraBody' | 'defaultMaxTokens' | 'outputLimit'
  >;
};

/** A messages body to be sent. */
export interface OutboundBody {
  /** JSON text. */
  readonly text: string;
  /** For the header `anthropic-beta`, if that is where the upstream takes betas. */
  readonly betas: readonly string[];
  /** For the metadata of the log row. */
  readonly notes?: JsonObject;
}

/**
 * The body as it is sent: the model-family policy is applied, the version or the model and the betas are added, and the
 * route's `extra_body` overrides everything at the end.
 */
export function outboundBody(
  body: JsonObject,
  { route, stream, betas }: BodyCall,
  rules: BodyRules,
): Either<GatewayError, OutboundBody> {
  const inHeader = rules.betas.in === 'header';
  const own = ownBetas(body['anthropic_beta'], inHeader);
  if (E.isLeft(own)) return own;
  const reasoned = withReasoning(body, route, rules.platform);
  if (E.isLeft(reasoned)) return reasoned;
  const { allowed, required } = rules.betas;
  const needed = [...betas.flatMap((beta) => allowed.get(beta) ?? []), ...required].filter(
    (beta) => !isIdleBeta(beta, body),
  );
  const asked = [...new Set([...own.right, ...needed, ...reasoned.right.betas])];
  const { notes } = reasoned.right;
  const written: JsonObject = {
    ...reasoned.right.body,
    model: rules.version === undefined ? route.upstreamModel : undefined,
    anthropic_version: rules.version,
    anthropic_beta: asked.length === 0 || inHeader ? undefined : asked,
    stream: stream && rules.saysStream ? true : undefined,
  };
  return E.right({
    text: JSON.stringify(deepMerge(written, route.extraBody)),
    betas: inHeader ? asked : [],
    ...(notes === undefined ? {} : { notes }),
  });
}

/** A value that can be one of several in a comma-separated header. */
const listed = /^[\x21-\x2b\x2d-\x7e]+$/;

/** The caller's own `anthropic_beta` is copied. Values that a header cannot carry are rejected if it goes into one. */
function ownBetas(value: Json | undefined, inHeader: boolean): Either<GatewayError, readonly string[]> {
  if (isAbsent(value)) return E.right([]);
  if (!isTexts(value)) return E.left(fieldError('anthropic_beta', 'must be an array of strings.'));
  return inHeader && !value.every((beta) => listed.test(beta))
    ? E.left(
        fieldError(
          'anthropic_beta',
          "goes into a header on this model's route: its values must be visible ASCII characters, and no commas.",
        ),
      )
    : E.right(value);
}
