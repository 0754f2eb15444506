import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { McpRequest } from '../../application/mcp/mcp-request.ts';
import { serveUnion } from '../../application/mcp/serve-union.ts';
import { toolTitles } from '../../application/mcp/tool-titles.ts';
import type { McpExchange } from '../../application/ports/mcp-upstreams.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { secretsOf } from '../../domain/payload/secrets.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';

const policy = { allowedOwners: [{ kind: 'everyone' }], allowedTools: undefined, deniedTools: [] } as const;
const servers = ['a', 'b'].map((id) => ({ id, displayName: id, policy }));

interface Scene {
  /** The session that a server begins. */
  readonly begins: (server: string) => string;
  /** The caller leaves while the server `b` is asked this. */
  readonly leavesAt?: string;
  readonly hasRoom?: boolean;
}

/** Sends one message to the union, in a session that its servers have forgotten. Returns which sessions it ended. */
async function endedBy(method: string, { begins, leavesAt, hasRoom = true }: Scene) {
  const ended: string[] = [];
  let leave = (): void => undefined;
  const reply = ({ id }: { readonly id: string }, { text, session }: McpExchange) => {
    const message = JSON.parse(text ?? '{}');
    if (id === 'b' && message.method === leavesAt) leave();
    if (session === 'forgotten') return { status: 404, session: undefined, body: { kind: 'none' } } as const;
    const answer = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { tools: [] } });
    return { status: 200, session: begins(id), body: { kind: 'json', text: answer } } as const;
  };
  const union = serveUnion({
    upstreams: {
      servers: () => servers,
      send: async (server, ask) => {
        if (ask.signal.aborted) return E.left({ code: 'upstream_unreachable', message: 'aborted' });
        if (ask.method === 'DELETE') ended.push(`${server.id}: ${ask.session?.slice(0, 3)}`);
        return E.right(reply(server, ask));
      },
    },
    sessions: {
      seal: async () => (hasRoom ? E.right('s') : E.left({ code: 'upstream_protocol', message: 'too long' })),
      open: async () =>
        E.right({
          place: '*',
          upstream: {
            a: { id: undefined, revision: undefined },
            b: { id: 'forgotten', revision: undefined },
          },
        }),
    },
    clock: { now: () => 0, newId: () => 'id' },
    digest: textDigest,
    record: () => undefined,
    titles: toolTitles(),
    secrets: () => secretsOf([]),
    beat: () => () => undefined,
  });
  const caller: Caller = {
    apiKeyId: 'k',
    allowedModels: [],
    keyOwner: { kind: 'user', userId: 'u', requestLoggingEnabled: true },
  };
  const request: McpRequest = {
    requestId: 'r',
    receivedAt: 0,
    caller,
    authenticateAgain: async () => E.right(caller),
    callerSecrets: [],
    serverId: '*',
    session: 's',
    headers: {
      protocolVersion: '2025-11-25',
      lastEventId: undefined,
      method: undefined,
      name: undefined,
      mirrored: {},
    },
    link: {
      lost: () => undefined,
      whenLost: (listener) => {
        leave = () => listener('client_closed');
      },
    },
    memory: { hold: () => true, holdUnfinished: () => true },
    telemetry: { traceContext: {}, sent: () => undefined, ended: () => undefined },
  };
  const message: JsonObject = { jsonrpc: '2.0', id: 1, method, params: {} };
  const answer = await union.post(request, E.right(JSON.stringify(message)));
  return { ended, isError: answer.kind === 'whole' && answer.text.includes('"error"') };
}

const short = (server: string): string => `${server}-1`;

describe('sessions that the union has begun', () => {
  it('stay if the caller gets a session', async () => {
    expect(await endedBy('initialize', { begins: short })).toEqual({ ended: [], isError: false });
  });

  it('are ended if their id is too long to be kept', async () => {
    const begins = (server: string): string => `${server}-1`.repeat(server === 'a' ? 400 : 1);
    expect(await endedBy('initialize', { begins })).toEqual({ ended: ['a: a-1'], isError: false });
  });

  it.each([
    ['there is no room for their ids', 'initialize', { hasRoom: false }, ['a: a-1', 'b: b-1']],
    ['the caller has left', 'initialize', { leavesAt: 'initialize' }, ['a: a-1', 'b: b-1']],
    ['they were for a list and the caller has left', 'tools/list', { leavesAt: 'tools/list' }, []],
    ['they were for a list, and the caller has left', 'tools/list', { leavesAt: 'initialize' }, ['b: b-1']],
  ])('are ended if %s', async (_, method, over, ended) => {
    expect(await endedBy(method, { begins: short, ...over })).toEqual({ ended, isError: true });
  });
});
