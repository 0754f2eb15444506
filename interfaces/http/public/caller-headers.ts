import type { IncomingMessage } from 'node:http';
import type { TraceContext } from '../../../application/ports/telemetry.ts';
import { parseKey, presentedCredential } from '../../../domain/identity/api-key.ts';
import { holdsSecret, type Secrets, withSecrets } from '../../../domain/payload/secrets.ts';
import { header } from '../request-context.ts';
import { validTraceState } from './trace-state.ts';

/** The whole key and its secret alone. */
export function callerKeyOf(req: IncomingMessage): readonly string[] {
  const credential = presentedCredential(header(req, 'authorization'), header(req, 'x-api-key')) ?? '';
  const key = parseKey(credential);
  return key === undefined ? [credential] : [credential, key.secret];
}

/** W3C: version ff is invalid, and so are ids of zeros; only later versions may go on after the flags. */
const traceparent =
  /^(?!ff)(?!00.{53}-)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{1,128})?$/;

/**
 * Of the caller's headers only W3C trace context goes upstream and to the collector. What is malformed is dropped, and
 * so is a list of vendors that holds a key or another credential.
 */
export function traceContext(req: IncomingMessage, secrets: Secrets): TraceContext {
  const parent = header(req, 'traceparent');
  if (parent === undefined || !traceparent.test(parent)) return {};
  const state = validTraceState(header(req, 'tracestate') ?? '');
  return state === undefined || holdsSecret(state, withSecrets(secrets, callerKeyOf(req)))
    ? { traceparent: parent }
    : { traceparent: parent, tracestate: state };
}
