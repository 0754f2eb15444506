import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { cloudBBlock, type EffortPlacement } from '../../../domain/compatibility/cloud-b-style.ts';
import { withMarkOnLastTurn } from '../../../domain/messages/cache-marks.ts';
import type { ModelTier } from '../../../domain/reasoning/model-tier.ts';
import { unifiedTier } from '../../../domain/reasoning/route-tier.ts';
import type { Digest } from '../../../domain/shared/digest.ts';
import type { Route } from '../../../domain/routing/model.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { deepMerge, type JsonObject, present } from '../../../domain/shared/json.ts';
import { boundedIds } from '../messages-body/tool-ids.ts';
import { withCachePoints } from './unified-cache.ts';
import { foreignControl, inferenceConfig } from './unified-controls.ts';
import { modelFields } from './unified-fields.ts';
import { toolIdShape } from './unified-limits.ts';
import { conversation, endsInToolLoop } from './unified-messages.ts';
import { platformOptions } from './unified-options.ts';
import { isNova } from './unified-schema.ts';
import { toolConfig } from './unified-tools.ts';
import { takesMixedTurns } from './unified-turns.ts';

/** What a converse request depends on besides the caller's body. */
export interface UnifiedCall {
  readonly route: Pick<Route, 'upstreamModel' | 'compatibility' | 'extraBody'>;
  readonly stream: boolean;
  readonly translated?: true;
}

/** A converse body, and a note on what was left out of it, for the metadata of the log row. */
interface UnifiedRequest {
  readonly body: JsonObject;
  readonly notes: JsonObject | undefined;
}

/**
 * The converse body that asks for the same answer as a chat-completions body, which must come from `parseExact`. Fields
 * that the platform cannot express are dropped if the answer means the same without them (`unsentFields`, and every
 * unknown field), and otherwise rejected by name. `extra_body` is the final override.
 */
export function unifiedRequest(
  body: JsonObject,
  { route, stream, translated }: UnifiedCall,
  digest: Digest,
): Either<GatewayError, UnifiedRequest> {
  const foreign = foreignControl(body);
  if (foreign !== undefined) return E.left(foreign);
  const tier = unifiedTier(route);
  const tools = toolConfig(body, {
    strict: supportsStrictTools(route, tier),
    messagesFamily: tier !== undefined,
    nova: isNova(route.upstreamModel),
  });
  if (E.isLeft(tools)) return tools;
  const turns = conversation(body['messages'], {
    ids: boundedIds(digest, toolIdShape),
    tools: tools.right !== undefined,
    mixedTurns: takesMixedTurns(route.upstreamModel),
    reminders: translated === true,
  });
  if (E.isLeft(turns)) return turns;
  const inference = inferenceConfig(body, tier);
  if (E.isLeft(inference)) return inference;
  const fields = modelFields(body, {
    upstreamModel: route.upstreamModel,
    tier,
    effortPlacement: effortPlacement(route),
    toolChoice: tools.right?.choice,
    inToolLoop: endsInToolLoop(turns.right),
    translated: translated === true,
  });
  if (E.isLeft(fields)) return fields;
  const options = platformOptions(body, stream);
  if (E.isLeft(options)) return options;
  const { fields: additional, notes } = fields.right;
  const {
    system,
    messages,
    toolConfig: placedTools,
  } = withCachePoints(
    {
      system: turns.right.system,
      messages: withMarkOnLastTurn(turns.right.messages, body),
      toolConfig: tools.right?.config,
    },
    route,
  );
  const request = present({
    system: system.length === 0 ? undefined : system,
    messages,
    inferenceConfig: Object.keys(inference.right).length === 0 ? undefined : inference.right,
    toolConfig: placedTools,
    additionalModelRequestFields: additional,
    ...options.right,
  });
  return E.right({ body: deepMerge(request, route.extraBody), notes });
}

/**
 * If the route does not set `supports_strict_tools`, the model's tier decides: the latest generation of the messages
 * family does not support `strict`, and it is omitted. For all other models an explicit `strict` is kept.
 */
const supportsStrictTools = ({ compatibility }: UnifiedCall['route'], tier: ModelTier | undefined): boolean =>
  cloudBBlock(compatibility)?.supportsStrictTools ?? tier !== 'latest';

const effortPlacement = ({ compatibility }: UnifiedCall['route']): EffortPlacement =>
  cloudBBlock(compatibility)?.effortPlacement ?? 'thinking';
