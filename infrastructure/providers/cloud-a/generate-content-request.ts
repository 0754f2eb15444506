import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { controlsOfB, foreignIn, withoutControls } from '../../../domain/compatibility/foreign-fields.ts';
import { isObject, isAbsent, type JsonObject, present } from '../../../domain/shared/json.ts';
import { unavailableField } from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { generationConfig } from './generate-content-config.ts';
import { conversationOf } from './generate-content-contents.ts';
import { signatureFor } from './generate-content-models.ts';
import { ownFields } from './generate-content-own-fields.ts';
import { toolMembers } from './generate-content-tools.ts';
import type { ReadableBuckets } from './readable-buckets.ts';

/**
 * The generate-content body that asks for the same answer as a chat-completions body, which must come from
 * `parseExact`. `model` is the publisher's name of the model. Fields that generate-content cannot express are dropped
 * if the answer means the same without them (`unsentFields`, and every unknown field), and otherwise rejected by name.
 * Messages-only fields (`thinking`, `output_config`, `anthropic_version`) do not apply to Google-published models; the
 * platform's own fields do. If the route has a list of `buckets`, media may only be in one of these. A body that was
 * `translated` is that of a messages caller.
 */
export function generateContentRequest(
  body: JsonObject,
  model: string,
  buckets?: ReadableBuckets,
  translated = false,
): Either<GatewayError, JsonObject> {
  const foreign = foreignControl(body);
  if (foreign !== undefined) return E.left(foreign);
  const turns = conversationOf(body['messages'], signatureFor(model), buckets, translated);
  if (E.isLeft(turns)) return turns;
  const tools = toolMembers(body);
  if (E.isLeft(tools)) return tools;
  const own = ownFields(body);
  if (E.isLeft(own)) return own;
  const config = generationConfig(body, model, own.right);
  if (E.isLeft(config)) return config;
  const { system, contents } = turns.right;
  return E.right(
    present({
      systemInstruction: system.length === 0 ? undefined : { parts: system },
      contents,
      ...tools.right,
      safetySettings: own.right.safetySettings?.value,
      cachedContent: own.right.cachedContent?.value,
      labels: own.right.labels?.value,
      generationConfig: Object.keys(config.right).length === 0 ? undefined : config.right,
    }),
  );
}

/** Chat controls that generate-content has no equivalent of. */
const foreignControls = withoutControls(
  'functions',
  'function_call',
  'logit_bias',
  'web_search_options',
  'audio',
  'moderation',
  ...controlsOfB,
  'verbosity',
);

/** What to use instead of those that are deprecated in chat. */
const instead: Readonly<Record<string, string>> = {
  functions: 'use `tools`',
  function_call: 'use `tool_choice`',
};

function foreignControl(body: JsonObject): GatewayError | undefined {
  const field = foreignIn(body, foreignControls);
  if (field !== undefined) return unavailableField(field, instead[field]);
  const { output_config: output } = body;
  return isObject(output) && !isAbsent(output['task_budget'])
    ? unavailableField('output_config.task_budget')
    : undefined;
}
