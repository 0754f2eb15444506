import * as E from 'fp-ts/lib/Either.js';
import { messages } from '../../application/families.ts';
import type { FamilySupport, ResolvedRoute, Route } from '../../domain/routing/model.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { outboundText } from '../../domain/shared/outbound-text.ts';
import { aRoute } from './arbitraries/routing.ts';

/** The chat body that a messages call is translated to for a route. */
export function writtenChat(
  body: object,
  route: Partial<Pick<Route, 'compatibility' | 'upstreamModel'>>,
  takes: FamilySupport = 'as_written',
): JsonObject {
  const ask = messages.read(JSON.stringify(body));
  if (E.isLeft(ask)) throw new Error(ask.left.message);
  const resolved: ResolvedRoute = {
    route: aRoute({ upstreamModel: 'm', compatibility: {}, extraBody: {}, ...route }),
    provider: {
      id: 'p',
      kind: 'compat',
      pricingProviderId: 'p',
      supports: () => aRoute().capabilities,
      takes: (_, family) => (family === 'chat_completions' ? takes : undefined),
    },
  };
  const chat = messages.write(ask.right, resolved);
  if (E.isLeft(chat)) throw new Error(chat.left.message);
  return JSON.parse(outboundText(chat.right)) as JsonObject;
}
