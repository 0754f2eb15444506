import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { toolTitles } from '../../application/mcp/tool-titles.ts';
import { beginSession, exchangeOf, newestRevision, noneYet } from '../../application/mcp/union-servers.ts';
import type { McpExchange } from '../../application/ports/mcp-upstreams.ts';
import type { JsonObject } from '../../domain/shared/json.ts';

const server = {
  id: 'own',
  displayName: 'Own',
  policy: { allowedOwners: [], allowedTools: undefined, deniedTools: [] },
};
const about = { traceContext: {}, signal: new AbortController().signal };

describe('a session of the gateway with a server', () => {
  it.each([
    ['2025-06-18', '2025-06-18'],
    ['x'.repeat(33), newestRevision],
    [undefined, newestRevision],
  ])('uses the server’s protocol revision if valid, or else the newest: %s', async (named, settled) => {
    const told: McpExchange[] = [];
    const upstreams = {
      servers: () => [server],
      send: async (_server: unknown, ask: McpExchange) => {
        told.push(ask);
        const { id } = JSON.parse(ask.text ?? '');
        const text = JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: named } });
        return E.right({ status: 200, session: 'theirs', body: { kind: 'json' as const, text } });
      },
    };
    const ports = { upstreams, clock: { now: () => 0, newId: () => '1' } };
    const memory = { hold: () => true, holdUnfinished: () => true };
    const ask = { ...about, server, session: noneYet, method: 'initialize', memory };
    expect(await beginSession(ports, ask, newestRevision)).toEqual(
      E.right({ session: { id: 'theirs', revision: settled }, instructions: '' }),
    );
    expect(told.at(-1)?.headers).toEqual({ 'mcp-protocol-version': settled });
  });

  it('begins within 8 seconds, in which the server is told that it has begun, too', async () => {
    let now = 0;
    const within: (number | undefined)[] = [];
    const upstreams = {
      servers: () => [server],
      send: async (_server: unknown, { text, withinMs }: McpExchange) => {
        within.push(withinMs);
        now += 3000;
        const answer = JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(text ?? '').id, result: {} });
        return E.right({ status: 200, session: 'theirs', body: { kind: 'json' as const, text: answer } });
      },
    };
    const ports = { upstreams, clock: { now: () => now, newId: () => '1' } };
    const memory = { hold: () => true, holdUnfinished: () => true };
    await beginSession(ports, { ...about, server, memory }, newestRevision);
    expect(within).toEqual([8000, 5000]);
  });

  it('reserves memory for the longest incomplete event only once', () => {
    const held: number[] = [];
    const hold = (bytes: number): boolean => held.push(bytes) < 3;
    const memory = { hold, holdUnfinished: () => false };
    const { holdUnfinished } = exchangeOf({ ...about, session: noneYet, memory }).memory;
    expect([10, 4, 10, 12, 12, 13].map(holdUnfinished)).toEqual([true, true, true, true, true, false]);
    expect(held).toEqual([10, 2, 1]);
  });
});

it.each<[string, JsonObject]>([
  ['its own', { title: 'Read it', annotations: { title: 'Read' } }],
  ['that of its annotations, where older servers put it', { annotations: { title: 'Read it' } }],
])('the title of a tool is %s', (_, members) => {
  const titles = toolTitles();
  titles.listed('own', [{ name: 'read', ...members }]);
  expect(titles.of('own', 'read')).toBe('Read it');
});

it('at most 10,000 tool titles are kept', () => {
  const titles = toolTitles();
  const tools = Array.from({ length: 10_001 }, (_, n) => ({ name: `t${n}`, title: `Tool ${n}` }));
  titles.listed('own', tools.slice(0, 10_000));
  expect(titles.of('own', 't0')).toBe('Tool 0');
  titles.listed('own', tools.slice(10_000));
  expect([titles.of('own', 't0'), titles.of('own', 't10000')]).toEqual([undefined, 'Tool 10000']);
});
