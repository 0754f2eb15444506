import type { IncomingMessage } from 'node:http';
import type { TraceContext } from '../../../application/ports/telemetry.ts';
import { parseKey, presentedCredential } from '../../../domain/identity/api-key.ts';
import { holdsSecret, type Secrets, withSecrets } from '../../../domain/payload/secrets.ts';
import { header } from '../request-context.ts';
import { validTraceState } from './trace-state.ts';

/** The credential as presented, and the secret of a key by itself. */
export function callerKeyOf(req: IncomingMessage): readonly string[] {
  const credential = presentedCredential(header(req, 'authorization'), header(req, 'x-api-key')) ?? '';
  const key = parseKey(credential);
  return key === undefined ? [credential] : [credential, key.secret];
}

/** W3C: version ff is invalid, and so are all-zero ids. Only later versions may continue after the flags. */
const traceparent =
  /^(?!ff)(?!00.{53}-)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{1,128})?$/;

/**
 * The caller's W3C trace context, which goes upstream and to the collector. A malformed one is dropped, and so is a
 * vendor list that contains a key or another credential.
 */
export function traceContext(req: IncomingMessage, secrets: Secrets): TraceContext {
  const parent = header(req, 'traceparent');
  if (parent === undefined || !traceparent.test(parent)) return {};
  const state = validTraceState(header(req, 'tracestate') ?? '');
  return state === undefined || holdsSecret(state, withSecrets(secrets, callerKeyOf(req)))
    ? { traceparent: parent }
    : { traceparent: parent, tracestate: state };
}
