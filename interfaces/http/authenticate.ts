import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Accounts } from '../../application/ports/accounts.ts';
import { parseKey, type PresentedKey, presentedCredential } from '../../domain/identity/api-key.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import { header } from './request-context.ts';

const missing: GatewayError = {
  code: 'missing_api_key',
  message: 'Send an API key as `Authorization: Bearer …` or as `x-api-key: …`.',
};
const invalid: GatewayError = {
  code: 'invalid_api_key',
  message: 'This API key is not valid, or it was revoked.',
};

/** Learns of a key that was not accepted. */
type KeyRefused = (key: PresentedKey, req: IncomingMessage) => void;

/** Authenticates callers of the public API by API key, in the same way on every public path. */
export const authenticate =
  (accounts: Accounts, refused: KeyRefused) =>
  async (req: IncomingMessage): Promise<Either<GatewayError, Caller>> => {
    const credential = presentedCredential(header(req, 'authorization'), header(req, 'x-api-key'));
    if (credential === undefined) return E.left(missing);
    const key = parseKey(credential);
    if (key === undefined) return E.left(invalid);
    const caller = await accounts.authenticate(key);
    if (E.isLeft(caller) && caller.left.code === 'invalid_api_key') refused(key, req);
    return caller;
  };
