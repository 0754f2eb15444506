import { withoutPartialSecrets } from '../domain/payload/partial-secrets.ts';
import { forCaller, redactedError, type RedactionRules } from '../domain/payload/redact.ts';
import { withoutSecrets } from '../domain/payload/secrets.ts';
import { withSanitisedMessages } from '../domain/responses/response-failure.ts';
import type { GatewayError, UpstreamLabels } from '../domain/shared/gateway-error.ts';
import { isString, type JsonObject } from '../domain/shared/json.ts';
import type { StreamChunk } from '../domain/shared/stream-event.ts';
import { boundedMessage } from '../domain/upstream/upstream-fault.ts';
import type { ModelRequest } from './model-request.ts';
import type { ServePolicy } from './serve-ports.ts';

type Chunks = readonly StreamChunk<JsonObject>[];

/**
 * Removes from texts of one request what its caller or the configuration keeps secret, before they are shown or kept.
 */
export interface RequestRedaction {
  readonly rules: () => RedactionRules;
  /** Cleans a text of the caller's, which may hold any secret. */
  readonly clean: (text: string) => string;
  /** Cleans an error, so that it may be shown and kept. */
  readonly fit: (error: GatewayError) => GatewayError;
  /** The same for events in which an upstream reports its failure in its own words. */
  readonly fitChunks: (chunks: Chunks) => Chunks;
}

/**
 * The rules are compiled when first needed, and again only after the configuration's secrets have changed: a token that
 * a provider obtained for this very call is one of them.
 */
export function requestRedaction(
  { callerKey }: Pick<ModelRequest, 'callerKey'>,
  policy: () => Pick<ServePolicy, 'redaction'>,
): RequestRedaction {
  let compiled: { readonly of: RedactionRules; readonly rules: RedactionRules } | undefined;
  const rules = (): RedactionRules => {
    const { redaction } = policy();
    if (compiled?.of !== redaction) compiled = { of: redaction, rules: forCaller(redaction, callerKey) };
    return compiled.rules;
  };
  return {
    rules,
    clean: (text) => withoutSecrets(text, rules().secrets),
    fit: (error) => fitError(error, rules()),
    fitChunks: (chunks) =>
      chunks.some(({ failing }) => failing === true)
        ? chunks.map((chunk) => fitChunk(chunk, rules()))
        : chunks,
  };
}

function fitError(error: GatewayError, rules: RedactionRules): GatewayError {
  const { param, upstream } = error;
  const { secrets } = rules;
  return {
    ...error,
    message: withoutPartialSecrets(boundedMessage(redactedError(error.message, rules)), secrets),
    ...(param === undefined ? {} : { param: withoutPartialSecrets(withoutSecrets(param, secrets), secrets) }),
    ...(upstream?.labels === undefined
      ? {}
      : { upstream: { ...upstream, labels: fitLabels(upstream.labels, rules) } }),
  };
}

/** A label that contains something to hide is left out, because what remains would be of no use. */
const fitLabels = (labels: UpstreamLabels, rules: RedactionRules): UpstreamLabels =>
  Object.fromEntries(
    Object.entries(labels).filter(([, label]: [string, string]) => redactedError(label, rules) === label),
  );

/** A changed event is serialized again, under the name that it came with. */
function fitChunk(event: StreamChunk<JsonObject>, rules: RedactionRules): StreamChunk<JsonObject> {
  if (event.failing !== true) return event;
  const chunk = withSanitisedMessages(event.chunk, (words) => redactedError(words, rules));
  if (chunk === event.chunk) return event;
  const { type } = chunk;
  const name = event.name ?? (isString(type) ? type : undefined);
  return { ...event, chunk, wire: undefined, text: undefined, name };
}
