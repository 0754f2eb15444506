import { describe, expect, it } from '@jest/globals';
import { mcpToolNames, referencedServers } from '../../../domain/mcp/referenced-servers.ts';

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

describe('the servers whose tools a request has', () => {
  it.each<[readonly string[], number, number, number]>([
    [[], 0, 0, 0],
    [['files__read'], 1, 1, 0],
    [['files__read', 'files__list'], 1, 2, 0],
    [['files__read', 'mcp__search__find', 'mcp__gateway__files__list'], 2, 3, 0],
    [['files__write', 'files__read'], 1, 2, 1],
    [['theirs__read'], 1, 1, 1],
    [['other__read', 'files', '__files', 'files_read', 'read__files'], 0, 0, 0],
    [['files__search__find'], 1, 1, 0],
  ])('%j: %s servers, %s tools, %s of them closed', (names, serverCount, toolCount, filteredToolCount) => {
    expect(referencedServers(names, servers, caller)).toEqual({ serverCount, toolCount, filteredToolCount });
  });
});

describe('the names that may be of a server', () => {
  it('are those of tools of every family, with the parts of a name', () => {
    const tools = [
      { type: 'function', function: { name: 'a__b' } },
      { type: 'function', name: 'c__d' },
      { name: 'e__f', input_schema: {} },
      { name: 'plain' },
      { name: 7 },
      { name: `g__${'x'.repeat(300)}` },
      { type: 'web_search' },
    ];
    expect(mcpToolNames(tools)).toEqual(['a__b', 'c__d', 'e__f']);
    expect(mcpToolNames(Array.from({ length: 5000 }, (_, n) => ({ name: `s__${n}` })))).toHaveLength(1024);
  });
});
