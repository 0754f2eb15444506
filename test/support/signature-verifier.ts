import { createHash, createHmac } from 'node:crypto';

/** A request as received on the socket. */
export interface SignedRequest {
  readonly method: string;
  /** Path and query, as written in the request line. */
  readonly target: string;
  /** Names and values alternately, as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** What the verifying service knows. */
export interface Verifier {
  readonly region: string;
  readonly service: string;
  readonly secretOf: (
    accessKeyId: string,
  ) => { readonly secret: string; readonly token?: string } | undefined;
  /** Whether the path is signed as sent; most services encode it once more. */
  readonly pathAsSent?: boolean;
  /** Headers that do not reach the verifier. */
  readonly drops?: (header: string) => boolean;
  readonly now?: number;
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();

/** RFC 3986: encodes everything except unreserved characters, byte by byte. */
const escaped = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) =>
      /[A-Za-z0-9\-._~]/.test(String.fromCharCode(byte))
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('');

export interface Canonical {
  readonly method: string;
  /** As sent, which is encoded once; it is encoded again here, segment by segment, unless `pathAsSent`. */
  readonly path: string;
  readonly pathAsSent?: boolean;
  readonly query: string;
  /** Name in lower case, value. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly payloadHash: string;
  /** Such as `20150830T123600Z`. */
  readonly date: string;
  readonly scope: string;
}

/** Version 4, implemented from the published description only. */
export function signatureOf(secret: string, canonical: Canonical): string {
  const { method, path, query, payloadHash, date, scope, pathAsSent = false } = canonical;
  const headers = [...canonical.headers].sort(([a], [b]) => (a < b ? -1 : 1));
  const pairs = query === '' ? [] : query.split('&').map((pair) => (pair.includes('=') ? pair : `${pair}=`));
  const request = [
    method,
    pathAsSent ? path : path.split('/').map(escaped).join('/'),
    pairs.sort().join('&'),
    ...headers.map(([name, value]) => `${name}:${value.trim().replaceAll(/ +/g, ' ')}`),
    '',
    headers.map(([name]) => name).join(';'),
    payloadHash,
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(request)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, text).toString('hex');
}

interface Claimed {
  readonly headers: ReadonlyMap<string, string>;
  readonly accessKeyId: string;
  readonly scope: string;
  readonly signed: readonly string[];
  readonly signature: string;
  readonly date: string;
}

function claimed({ rawHeaders }: SignedRequest, drops: (header: string) => boolean): Claimed {
  const pairs = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ''] as const] : [],
  );
  const headers = new Map(pairs.filter(([name]) => !drops(name)));
  const [, accessKeyId = '', scope = '', names = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.get('authorization') ?? '',
    ) ?? [];
  const date = headers.get('x-amz-date') ?? '';
  return { headers, accessKeyId, scope, signed: names.split(';'), signature, date };
}

/** The fault of a request, or undefined if its signature is valid. */
export function signatureFault(request: SignedRequest, verifier: Verifier): string | undefined {
  const claims = claimed(request, verifier.drops ?? (() => false));
  const known = verifier.secretOf(claims.accessKeyId);
  if (known === undefined) return 'unknown access key, or no signature';
  if (claims.headers.get('x-amz-security-token') !== known.token) return 'session token';
  return scopeFault(claims, verifier) ?? contentFault(claims, request, known.secret, verifier.pathAsSent);
}

function scopeFault({ scope, date }: Claimed, { region, service, now = Date.now() }: Verifier) {
  if (scope !== `${date.slice(0, 8)}/${region}/${service}/aws4_request`) return `scope ${scope}`;
  const at = Date.parse(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
  return Math.abs(at - now) < 300_000 ? undefined : `date ${date}`;
}

function contentFault(
  { headers, signed, scope, date, signature }: Claimed,
  { method, target, body }: SignedRequest,
  secret: string,
  pathAsSent = false,
): string | undefined {
  const mustBeSigned = ['host', ...[...headers.keys()].filter((name) => name.startsWith('x-amz-'))];
  const unsigned = mustBeSigned.find((name) => !signed.includes(name));
  if (unsigned !== undefined) return `${unsigned} is not signed`;
  const payloadHash = sha256(body);
  if (headers.get('x-amz-content-sha256') !== payloadHash) return 'body';
  const [path = '', query = ''] = target.split('?');
  const named = signed.map((name) => [name, headers.get(name) ?? ''] as const);
  const canonical = { method, path, pathAsSent, query, headers: named, payloadHash, date, scope };
  const expected = signatureOf(secret, canonical);
  return signature === expected ? undefined : 'signature';
}
