import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Route } from '../../../domain/routing/model.ts';
import { isObject, type JsonObject, numberOf, only, parseExactObject } from '../../../domain/shared/json.ts';
import { readCount } from '../messages-body/counted.ts';
import type { CountStyle } from '../messages-body/dialect.ts';
import { outboundHeaders } from '../outbound-headers.ts';
import type { Dialect, ProviderContext } from '../provider.ts';
import { pathSegment } from '../wire/path-segment.ts';
import { countedModel } from './counted-model.ts';
import { unifiedRequest } from './unified-request.ts';

const pathOf = ({ route }: { readonly route: Pick<Route, 'upstreamModel'> }): string =>
  `/model/${pathSegment(countedModel(route) ?? route.upstreamModel)}/count-tokens`;

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseTokensRequest.html */
const countedMembers: ReadonlySet<string> = new Set([
  'messages',
  'system',
  'toolConfig',
  'additionalModelRequestFields',
]);

/** Counts the tokens of the converse body to which a messages body is translated, by way of chat. */
export const countUnified = (
  defaultHeaders: Readonly<Record<string, string>>,
  { sanitise, digest }: ProviderContext,
): Dialect => ({
  encode: (call) =>
    pipe(
      unifiedRequest(parseExactObject(call.body), { ...call, translated: true }, digest),
      E.map(({ body }) => ({
        path: pathOf(call),
        headers: outboundHeaders(defaultHeaders, call),
        body: JSON.stringify({ input: { converse: only(body, countedMembers) } }),
      })),
    ),
  decode: (body) => readCount(body, 'inputTokens', sanitise),
});

/** Counts the tokens of an invoke body, which is sent as a whole, in base64. */
export const countInvoke: CountStyle = {
  path: pathOf,
  request: (body) => {
    const whole = JSON.stringify({ ...body, max_tokens: limitFor(body) });
    return { input: { invokeModel: { body: Buffer.from(whole).toString('base64') } } };
  },
  field: 'inputTokens',
};

/** An invoke body must have a `max_tokens` above its thinking budget. The count does not depend on it. */
const limitFor = ({ thinking }: JsonObject): number =>
  (isObject(thinking) ? (numberOf(thinking['budget_tokens']) ?? 0) : 0) + 1;
