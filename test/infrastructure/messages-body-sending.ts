import * as E from 'fp-ts/lib/Either.js';
import { type Capabilities, permissive } from '../../domain/routing/capabilities.ts';
import type { Compatibility } from '../../domain/routing/model.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { fromChatBody } from '../../infrastructure/providers/messages-body/request.ts';
import {
  type BodyRules,
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';

export const user = { role: 'user', content: 'Hi' };
export const minimal = { model: 'm', max_tokens: 100, messages: [user] };

interface Sending {
  readonly upstreamModel?: string;
  readonly extraBody?: JsonObject;
  readonly stream?: boolean;
  readonly betas?: readonly string[];
  readonly compatibility?: Compatibility;
  readonly capabilities?: Capabilities;
}

export const outbound = (body: object | string, rules: BodyRules, sending: Sending = {}) =>
  fromChatBody(
    {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      stream: sending.stream ?? false,
      betas: sending.betas ?? [],
      route: {
        upstreamModel: sending.upstreamModel ?? 'anthropic/claude-opus-4-6',
        compatibility: sending.compatibility ?? {},
        capabilities: sending.capabilities ?? permissive,
        extraBody: sending.extraBody ?? {},
      },
    },
    rules,
    textDigest,
  );

/** The body that is sent upstream; the test fails if the request is refused. */
export const sent = (
  body: object | string,
  rules: BodyRules = rawPredictRules,
  sending?: Sending,
): JsonObject => {
  const result = outbound(body, rules, sending);
  if (E.isLeft(result)) throw new Error(result.left.message);
  return JSON.parse(result.right.text) as JsonObject;
};

export const refusal = (body: object, rules: BodyRules = rawPredictRules, sending?: Sending) => {
  const result = outbound(body, rules, sending);
  return E.isLeft(result) ? result.left : undefined;
};

export const styles = [
  ['raw-predict', rawPredictRules],
  ['invoke', invokeRules],
  ['endpointb_messages', endpointbRules],
] as const;
