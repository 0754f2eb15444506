import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { Agent, request } from 'undici';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import { isObject, numberOf, parseJson } from '../../domain/shared/json.ts';
import type { McpAuth } from '../config/mcp-config.ts';
import { type CredentialLease, Renewed } from '../providers/auth/renewed.ts';
import { maxTokenBytes, tokenFailure } from '../providers/auth/token-service.ts';

/** The headers that authenticate the gateway to a server. */
type CredentialHeaders = Readonly<Record<string, string>>;

export interface ServerCredentials {
  readonly headers: () => Promise<Either<McpError, CredentialHeaders>>;
  /** To be called when the server answered 401 to these headers. */
  readonly refused: (headers: CredentialHeaders) => void;
}

export interface CredentialContext {
  /** Has an obtained token redacted wherever texts are stored or shown. */
  readonly conceal: (secret: string) => void;
  readonly warn: (message: string) => void;
}

export function serverCredentials(auth: McpAuth, context: CredentialContext): ServerCredentials {
  switch (auth.mode) {
    case 'none':
      return always({});
    case 'bearer':
      return always(bearer(auth.token));
    case 'header':
      return always({ [auth.name.toLowerCase()]: auth.value });
    case 'oauth_client_credentials':
      return clientCredentials(auth, context);
  }
}

const always = (headers: CredentialHeaders): ServerCredentials => ({
  headers: async () => E.right(headers),
  refused: () => undefined,
});

const bearer = (token: string): CredentialHeaders => ({ authorization: `Bearer ${token}` });

type ClientCredentials = Extract<McpAuth, { readonly mode: 'oauth_client_credentials' }>;

function clientCredentials(auth: ClientCredentials, { conceal, warn }: CredentialContext): ServerCredentials {
  // Without HTTP/2, like the connections to the servers themselves: `upstreams.ts` says why.
  const dispatcher = new Agent({ allowH2: false });
  const tokens = new Renewed<CredentialHeaders>({
    name: 'the access token of an MCP server',
    obtain: async (signal) => {
      const obtained = await obtain(auth, dispatcher, signal);
      if (E.isRight(obtained)) conceal(obtained.right.value);
      return pipe(
        obtained,
        E.map(({ value, endsAt }) => ({ value: bearer(value), endsAt })),
      );
    },
    explain: tokenFailure,
    warn,
  });
  return {
    headers: async () => {
      const current = tokens.current();
      return pipe(current instanceof Promise ? await current : E.right(current), E.mapLeft(noCredentials));
    },
    refused: (headers) => tokens.refused(headers),
  };
}

const noCredentials = (): McpError => ({
  code: 'upstream_unauthorized',
  message: 'The gateway could not obtain credentials for the server.',
});

/** The lifetime of a token where the service does not state one. */
const usualSecs = 300;

async function obtain(
  auth: ClientCredentials,
  dispatcher: Agent,
  signal: AbortSignal,
): Promise<Either<string, CredentialLease<string>>> {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (auth.scope !== undefined) form.set('scope', auth.scope);
  // RFC 6749, 2.3.1: both are form-encoded first.
  const client = [auth.clientId, auth.clientSecret].map(encodeURIComponent).join(':');
  const { statusCode, body } = await request(auth.tokenUrl, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      authorization: `Basic ${Buffer.from(client).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: form.toString(),
    dispatcher,
    signal,
  });
  let text = '';
  for await (const piece of body) {
    text += String(piece);
    if (text.length > maxTokenBytes) return E.left('the token service answered with too much');
  }
  if (statusCode !== 200) return E.left(tokenFailure({ response: { status: statusCode, data: text } }));
  return leaseOf(text);
}

function leaseOf(text: string): Either<string, CredentialLease<string>> {
  const answer = parseJson(text);
  const token = isObject(answer) ? answer['access_token'] : undefined;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token))
    return E.left('the token service answered without a token');
  const secs = (isObject(answer) ? numberOf(answer['expires_in']) : undefined) ?? usualSecs;
  return E.right({ value: token, endsAt: Date.now() + secs * 1000 });
}
