import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  chatCompletions,
  embeddings,
  messages,
  responses,
  writtenBy,
} from '../../../application/families.ts';
import type { ParsedRequest, Family } from '../../../application/model-request.ts';
import type { FieldFamily } from './families.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { outboundText } from '../../../domain/shared/outbound-text.ts';
import { textDigest } from '../../../infrastructure/text-digest.ts';
import { callOf, type SpokenRoute } from '../growth/routes.ts';
import { type KnownField, marksIn } from './known-fields.ts';

/** Everything sent upstream for a body, as text, or the reason why nothing is sent. */
type Outbound = Either<GatewayError, string>;

function outbound<A extends ParsedRequest>(family: Family<A>, route: SpokenRoute, text: string): Outbound {
  const ask = family.read(text);
  if (E.isLeft(ask)) return ask;
  const { speaks, translation } = family.answerPath(ask.right, route.resolved, 'request-1');
  return writtenBy(family, ask.right, route.resolved, (body) => {
    const call = {
      ...callOf(route, speaks.family, outboundText(body), ask.right.stream),
      ...(translation === undefined ? {} : { translated: true as const }),
    };
    const dialect = route.speak(call)?.dialect;
    if (dialect === undefined) return E.left(invalidRequest('It is not spoken.'));
    const sent: Either<GatewayError, unknown> =
      'encodeMany' in dialect ? dialect.encodeMany(call) : dialect.encode(call);
    // The metadata of the row comes from the request, and is sent nowhere else.
    const told = (key: string, value: unknown) => (key === 'notes' ? undefined : value);
    return E.map((request: unknown) => JSON.stringify(request, told))(sent);
  });
}

const through = {
  chat_completions: (route, text) => outbound(chatCompletions, route, text),
  messages: (route, text) => outbound(messages, route, text),
  responses: (route, text) => outbound(responses(textDigest), route, text),
  embeddings: (route, text) => outbound(embeddings, route, text),
} as const satisfies Record<FieldFamily, (route: SpokenRoute, text: string) => Outbound>;

/** What happens to a field: it is sent upstream, rejected by name, or dropped. */
export type Fate = 'sent' | 'refused' | 'unsent' | `refused as ${string}`;

/**
 * The fields beside the tested one may be rejected already. If the field is sent, the upstream body differs
 * from the one without it, and contains its marked words.
 */
export function fateOf(field: KnownField, family: FieldFamily, route: SpokenRoute): Fate {
  const whole = written(field.body, family, route);
  const bare = written(field.bare, family, route);
  if (E.isLeft(whole)) {
    const { message, param } = whole.left;
    const asBefore = E.isLeft(bare) && bare.left.message === message;
    return asBefore || names(whole.left, field.path) ? 'refused' : `refused as ${param}: ${message}`;
  }
  const differs = E.isLeft(bare) || bare.right !== whole.right;
  return differs && marksIn(field.value).every((word) => whole.right.includes(word)) ? 'sent' : 'unsent';
}

const written = (body: JsonObject, family: FieldFamily, route: SpokenRoute): Outbound =>
  through[family](route, JSON.stringify(body));

/** An error names a field by its own path, or by that of a member or a parent. */
function names({ param = '' }: GatewayError, path: string): boolean {
  const named = param.replace(/\.type$/, '');
  const within = (inner: string, outer: string): boolean =>
    inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  return named !== '' && (within(named, path) || within(path, named));
}
