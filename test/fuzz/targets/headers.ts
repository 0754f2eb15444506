import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import * as E from 'fp-ts/lib/Either.js';
import { formatKey, parseKey, presentedCredential } from '../../../domain/identity/api-key.ts';
import { returnPath } from '../../../domain/identity/return-path.ts';
import { noSecrets } from '../../../domain/payload/secrets.ts';
import { agentHarness } from '../../../domain/request-log/agent-harness.ts';
import { readCallerTags } from '../../../domain/request-log/caller-tags.ts';
import { contentCodingOf, contentCodings } from '../../../domain/shared/content-coding.ts';
import { acceptsCoding } from '../../../interfaces/http/accepted-coding.ts';
import { clientAddress, countedOrigin } from '../../../interfaces/http/client-address.ts';
import { sessionToken, signInToken } from '../../../interfaces/http/admin/session-cookie.ts';
import { mcpHeaders } from '../../../interfaces/http/mcp/mcp-headers.ts';
import { callerKeyOf, traceContext } from '../../../interfaces/http/public/caller-headers.ts';
import { idHeaders, openContext } from '../../../interfaces/http/request-context.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';
import { demandTellable } from './requests.ts';

const socket = new Socket();

/** A request with headers as Node passes them: lines `name: value` that HTTP allows. */
function requestOf(lines: readonly (readonly [name: string, value: string])[]): IncomingMessage {
  const req = new IncomingMessage(socket);
  for (const [name, value] of lines) req.headers[name] ??= value;
  return req;
}

const linesIn = (input: Buffer) =>
  input
    .toString('latin1')
    .split('\n')
    .flatMap((line): (readonly [string, string])[] => {
      const colon = line.indexOf(':');
      if (colon < 1) return [];
      return [
        [
          line.slice(0, colon).trim().toLowerCase(),
          line
            .slice(colon + 1)
            .replaceAll(/[\0\r]/g, '')
            .trim(),
        ],
      ];
    })
    .filter(([name]) => /^[a-z0-9-]+$/.test(name));

function checkTags(lines: readonly (readonly [string, string])[], probe: Probe): string {
  const tags = probe.step(() =>
    readCallerTags((name) => lines.filter(([each]) => each === name).map(([, value]) => value)),
  );
  if (E.isLeft(tags)) {
    demandTellable(tags.left);
    demand(tags.left.param?.startsWith('x-gateway-') === true, 'an error of a tag names no header');
    return roughly(tags.left.message);
  }
  const { service, component, env, bespoke } = tags.right;
  const keys = bespoke.map(({ key }) => key);
  demand(bespoke.length <= 5 && new Set(keys).size === keys.length, 'too many tags, or one twice');
  demand(
    [service, component, env, ...bespoke.map(({ value }) => value)].every(
      (value) => value === undefined || /^[A-Za-z0-9._/:-]{1,64}$/.test(value),
    ) && keys.every((key) => /^[a-z][a-z0-9._-]{0,31}$/.test(key)),
    'a tag that may not be',
  );
  return `tags ${bespoke.length} ${service !== undefined}`;
}

function checkHeaders(input: Buffer, probe: Probe): string {
  const lines = linesIn(input);
  const req = requestOf(lines);
  const of = (name: string): string | undefined => lines.find(([each]) => each === name)?.[1];
  const tags = checkTags(lines, probe);
  const credential = presentedCredential(of('authorization'), of('x-api-key'));
  const key = credential === undefined ? undefined : parseKey(credential);
  demand(key === undefined || formatKey(key) === credential, 'a key is another one than was presented');
  const { traceparent, tracestate } = probe.step(() => traceContext(req, noSecrets));
  demand(
    traceparent === undefined || /^(?!ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}/.test(traceparent),
    'trace context that is none goes on',
  );
  demand(tracestate === undefined || /^[\x20-\x7e\t]{1,512}$/.test(tracestate), 'a trace state that is none');
  const context = openContext(req, new ServerResponse(req), 0, () => 'made');
  demand(context.requestId === (of('x-request-id') || 'made'), 'the id of the request is another one');
  demand(
    Object.values(idHeaders(context)).every((id) => id === context.requestId),
    'another id is told',
  );
  const coding = contentCodingOf(of('content-encoding'));
  demand(
    coding === undefined || coding === 'identity' || contentCodings.includes(coding),
    'a coding that nobody reads',
  );
  acceptsCoding(of('accept-encoding') ?? '', 'br');
  const address = probe.step(() =>
    clientAddress({ peer: '10.1.2.3', forwardedFor: of('x-forwarded-for') }, ['10.0.0.0/8']),
  );
  const { network } = countedOrigin(address);
  demand(network.length <= 64, 'a network that is none');
  const { mirrored, lastEventId } = probe.step(() => mcpHeaders(req));
  demand(
    [...Object.values(mirrored), lastEventId ?? 'x'].every((value) => /^[\x20-\x7e]+$/.test(value)),
    'a header goes on that servers may read in two ways',
  );
  const back = returnPath(of('x-return'));
  demand(
    new URL(back, 'https://gateway.example').host === 'gateway.example',
    'a browser is sent to another host',
  );
  callerKeyOf(req);
  const sessions = [sessionToken(req), signInToken(req, of('x-state') ?? '')].map(
    (token) => token !== undefined,
  );
  return [
    tags,
    key !== undefined,
    traceparent === undefined,
    tracestate === undefined,
    coding,
    sessions,
    agentHarness(of('user-agent')).key,
    back !== '/',
    Object.keys(mirrored).length,
    address === '10.1.2.3',
  ].join(' ');
}

const token = 'A'.repeat(43);

export const headersTarget: Target = {
  name: 'headers',
  samples: [
    `authorization: Bearer gwk_0123456789abcdef.${'0123456789abcdef'.repeat(4)}
x-request-id: a-b-c
x-gateway-service: web
x-gateway-component: search/index
x-gateway-env: prod
x-gateway-tags: team=a; cost.centre=4711 ;b=c:d
traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
tracestate: vendor=abc, b@c=d=
content-encoding: gzip
accept-encoding: gzip;q=0, br;q=1.0, *;q=0`,
    `x-api-key: gwk_abcdefgh.${'s'.repeat(32)}
authorization: Basic abc
user-agent: claude-cli/1.0.33 (external, cli)
x-forwarded-for: 198.51.100.1, [2001:db8::1]:4711, ::ffff:10.2.3.4
cookie: gateway_session=${token}; a=b; gateway_sign_in_AAAAAAAA=${token}
x-state: ${token}
mcp-protocol-version: 2025-06-18
mcp-name: =?base64?dG9vbA==?=
mcp-method: tools/call
mcp-param-x: 1
last-event-id: 17
x-return: /app/keys?x=%20`,
  ].map((text) => Buffer.from(text)),
  words: [
    'x-gateway-tags: ',
    'x-gateway-service: ',
    'x-request-id: ',
    'authorization: ',
    'traceparent: ',
    'cookie: ',
    ';',
    '=',
    ', ',
    ':',
    'a=b;',
    'service=x',
    'Bearer ',
    'gwk_',
    '.',
    '-',
    '00-',
    'ff-',
    '0'.repeat(32),
    '\t',
    '//evil.example',
    '/\\evil.example',
    '%00',
    'é',
    '=?base64?',
    '?=',
    'gateway_session=',
    'identity',
    'x-gzip',
    '::1',
    '127.0.0.1',
    '%eth0',
    '[',
    ']',
    'q=0.000',
    '*',
  ],
  // The most that Node reads for all headers of a request.
  grownBytes: 32 * 1024,
  check: checkHeaders,
};
