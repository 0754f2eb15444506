import { describe, expect, it } from '@jest/globals';
import { offeredMcpTools, referencedServers } from '../../../domain/mcp/referenced-servers.ts';

const open = {
  allowedOwners: [{ kind: 'everyone' }],
  allowedTools: undefined,
  deniedTools: ['write'],
} as const;
const servers = [
  { id: 'files', policy: open },
  { id: 'search', policy: open },
  { id: 'theirs', policy: { ...open, allowedOwners: [] } },
];
const caller = { apiKeyId: 'k', keyOwner: { kind: 'team', teamId: 't' }, allowedModels: [] } as const;

describe('the MCP servers whose tools a request has', () => {
  it.each<[readonly string[], number, number, number]>([
    [[], 0, 0, 0],
    [['files__read'], 1, 1, 0],
    [['files__read', 'files__list'], 1, 2, 0],
    [['files__read', 'mcp__search__find', 'mcp__gateway__files__list'], 2, 3, 0],
    [['files__write', 'files__read'], 1, 2, 1],
    [['theirs__read'], 1, 1, 1],
    [['other__read', 'files', '__files', 'files_read', 'read__files'], 0, 0, 0],
    [['files__search__find'], 1, 1, 0],
  ])(
    'tools %j count as %s servers and %s tools, %s of them closed to the key',
    (names, serverCount, toolCount, filteredToolCount) => {
      const tools = names.map((name) => ({ name, bytes: 10 }));
      expect(referencedServers(tools, servers, caller)).toEqual({
        serverCount,
        toolCount,
        filteredToolCount,
        toolBytes: 10 * toolCount,
      });
    },
  );
});

describe('the bytes of a tool definition', () => {
  it('are counted for tools of configured servers only', () => {
    const uncounted = {
      name: 'other__read',
      get bytes(): number {
        throw new Error('it is of no configured server');
      },
    };
    expect(referencedServers([uncounted, { name: 'files__read', bytes: 7 }], servers, caller)).toMatchObject({
      toolCount: 1,
      toolBytes: 7,
    });
  });
});

describe('the tools of a request that may belong to an MCP server', () => {
  it('are found in the tool lists of every family by the server prefix of their names, at most 1024', () => {
    const tools = [
      { type: 'function', function: { name: 'a__b' } },
      { type: 'function', name: 'c__d' },
      { name: 'e__f', input_schema: {} },
      { name: 'plain' },
      { name: 7 },
      { name: `g__${'x'.repeat(300)}` },
      { type: 'web_search' },
      { type: 'namespace', name: 'mcp__h', tools: [{ type: 'function', name: 'i' }, { name: 7 }, 'j'] },
      { type: 'namespace', name: 'mcp__k' },
    ];
    expect(offeredMcpTools(tools).map(({ name }) => name)).toEqual(['a__b', 'c__d', 'e__f', 'mcp__h__i']);
    expect(offeredMcpTools(Array.from({ length: 5000 }, (_, n) => ({ name: `s__${n}` })))).toHaveLength(1024);
  });

  it('have the size of their definitions in bytes of compact JSON, in UTF-8', () => {
    const tool = { name: 'a__b', description: 'für € \u{1f600} \ud800 "quoted"', input_schema: { n: [1] } };
    expect(offeredMcpTools([tool])).toEqual([
      { name: 'a__b', bytes: Buffer.byteLength(JSON.stringify(tool)) },
    ]);
  });
});
