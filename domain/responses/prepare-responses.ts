import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { compatOf } from '../compatibility/compat.ts';
import { emptyTools, inputHasToolHistory } from '../compatibility/empty-tools.ts';
import { overridden } from '../routing/extra-body.ts';
import type { Route } from '../routing/model.ts';
import type { Digest } from '../shared/digest.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isArray, type Json } from '../shared/json.ts';
import { editedMembers, exactMember } from '../shared/json-document.ts';
import type { OutboundText } from '../shared/outbound-text.ts';
import { needsReplayIds, withReplayIds } from './replay-ids.ts';
import type { GenerationRequest } from '../routing/generation-request.ts';

/**
 * The outbound responses body: the caller's own text, except for the edits that the specification names, empty tools
 * and replay identifiers. The model's upstream name is set first; `extra_body` is the final raw override.
 */
export function prepareResponses(
  request: GenerationRequest,
  route: Route,
  digest: Digest,
): Either<GatewayError, OutboundText> {
  const { document } = request;
  const changes = new Map<string, Json | undefined>();
  if (request.model !== route.upstreamModel) changes.set('model', route.upstreamModel);
  const rule = compatOf(route.compatibility).emptyTools;
  const dropped = emptyTools(rule, document.value, () => inputHasToolHistory(document.value['input']));
  if (E.isLeft(dropped)) return dropped;
  for (const key of dropped.right) changes.set(key, undefined);
  if (needsReplayIds(document.value['input'])) {
    const input = exactMember(document, 'input');
    if (isArray(input)) changes.set('input', withReplayIds(input, digest));
  }
  return pipe(
    overridden(document, changes, route.extraBody),
    E.map((all) => editedMembers(document, all)),
  );
}
