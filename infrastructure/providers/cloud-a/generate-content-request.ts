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
 * The generate-content body that asks for the same answer as a chat-completions body, which is as `parseExact` gives
 * it; `model` is the publisher's name of it. What generate-content has no word for is dropped where the answer means
 * the same without it (`unsentFields` and every field that nobody knows), and rejected by name where not.
 * Messages-only fields (`thinking`, `output_config`, `anthropic_version`) do not apply to Google-published models; the
 * platform's own fields do. Media stand in one of the `buckets` that the route may read, where it has a list of them.
 */
export function generateContentRequest(
  body: JsonObject,
  model: string,
  buckets?: ReadableBuckets,
): Either<GatewayError, JsonObject> {
  const foreign = foreignControl(body);
  if (foreign !== undefined) return E.left(foreign);
  const turns = conversationOf(body['messages'], signatureFor(model), buckets);
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

/** Controls of chat that generate-content has no word for. */
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

/** What to use in place of those that chat has a newer word for. */
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
