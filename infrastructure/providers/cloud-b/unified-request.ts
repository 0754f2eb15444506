import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { endMarked } from '../../../domain/messages/cache-marks.ts';
import { modelTier } from '../../../domain/reasoning/model-tier.ts';
import type { Digest } from '../../../domain/responses/replay-ids.ts';
import type { Route } from '../../../domain/routing/model.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { deepMerge, type JsonObject } from '../../../domain/shared/json.ts';
import { withCachePoints } from './unified-cache.ts';
import { foreignControl, inferenceConfig } from './unified-controls.ts';
import { modelFields } from './unified-fields.ts';
import { conversation } from './unified-messages.ts';
import { platformOptions } from './unified-options.ts';
import { toolConfig } from './unified-tools.ts';

/** What a converse request depends on beside the caller's body. */
export interface UnifiedCall {
  readonly route: Pick<Route, 'upstreamModel' | 'compatibility' | 'extraBody'>;
  readonly stream: boolean;
}

/**
 * The converse body that asks for the same answer as a chat-completions body, which is as `parseExact` gives it. What
 * the platform has no word for is dropped where the answer means the same without it (`unsentFields` and every field
 * that nobody knows), and rejected by name where not. `extra_body` is the final override.
 */
export function unifiedRequest(
  body: JsonObject,
  { route, stream }: UnifiedCall,
  digest: Digest,
): Either<GatewayError, JsonObject> {
  const foreign = foreignControl(body);
  if (foreign !== undefined) return E.left(foreign);
  const tier = modelTier(route.upstreamModel);
  const tools = toolConfig(body, supportsStrictTools(route));
  if (E.isLeft(tools)) return tools;
  const said = conversation(body['messages'], { digest, tools: tools.right !== undefined });
  if (E.isLeft(said)) return said;
  const inference = inferenceConfig(body, tier);
  if (E.isLeft(inference)) return inference;
  const fields = modelFields(body, tier);
  if (E.isLeft(fields)) return fields;
  const options = platformOptions(body, stream);
  if (E.isLeft(options)) return options;
  const placed = withCachePoints(
    { system: said.right.system, messages: endMarked(said.right.messages, body), toolConfig: tools.right },
    route,
  );
  const { system, messages } = placed;
  const request: JsonObject = {
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...(Object.keys(inference.right).length === 0 ? {} : { inferenceConfig: inference.right }),
    ...(placed.toolConfig === undefined ? {} : { toolConfig: placed.toolConfig }),
    ...(fields.right === undefined ? {} : { additionalModelRequestFields: fields.right }),
    ...options.right,
  };
  return E.right(deepMerge(request, route.extraBody));
}

/**
 * When absent, transparent model ids are detected by family: latest-generation messages-family models omit the
 * unsupported strict field; other models keep an explicit strict value.
 */
function supportsStrictTools({ compatibility, upstreamModel }: UnifiedCall['route']): boolean {
  const configured = compatibility.cloud_b?.['supports_strict_tools'];
  return typeof configured === 'boolean' ? configured : modelTier(upstreamModel) !== 'latest';
}
