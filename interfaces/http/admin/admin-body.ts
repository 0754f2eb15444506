import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { maxEventLoopValues } from '../../../domain/shared/limits.ts';
import { readJsonText } from '../body.ts';
import type { Arrivals } from '../body-pace.ts';
import type { Lease } from '../load-gate.ts';
import { header } from '../request-context.ts';

/** 1 MiB: no admin call carries more than a form does. */
export const maxAdminBodyBytes = 1024 * 1024;

const json = /^application\/json\s*(?:;|$)/i;

const hasBody = (req: IncomingMessage): boolean =>
  req.headers['transfer-encoding'] !== undefined || (header(req, 'content-length') ?? '0') !== '0';

/**
 * The body of a state-changing call: `application/json`, an object without repeated keys and with no more values than
 * are read in the event loop (rule 40.27). `undefined` when there is none.
 */
export async function readAdminBody(
  req: IncomingMessage,
  maxBytes: number,
  lease: Pick<Lease, 'hold' | 'giveBack'>,
  arrivals: Arrivals,
): Promise<Either<GatewayError, JsonObject | undefined>> {
  if (!hasBody(req)) return E.right(undefined);
  if (!json.test(header(req, 'content-type') ?? ''))
    return E.left(
      invalidRequest('The request body must be JSON: `content-type: application/json`.', 'content-type'),
    );
  const text = await readJsonText(req, { maxBytes, lease, arrivals });
  if (E.isLeft(text)) return text;
  if (text.right === '') return E.right(undefined);
  const document = parseDocument(text.right, {}, undefined, maxEventLoopValues);
  return E.isLeft(document)
    ? E.left(invalidRequest(document.left.message, document.left.path))
    : E.right(document.right.value);
}
