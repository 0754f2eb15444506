import { describe, expect, it } from '@jest/globals';
import { searchWithServers } from '../../application/mcp/search-servers.ts';
import type { Hit } from '../../application/ports/search.ts';

const policy = { allowedOwners: [{ kind: 'everyone' }], allowedTools: undefined, deniedTools: [] } as const;
const stored: Hit = { kind: 'team', id: 'files', title: 'Files', detail: undefined };
const search = (text: string, servers: readonly (readonly [id: string, displayName: string])[]) =>
  searchWithServers({ find: async () => [stored] }, () =>
    servers.map(([id, displayName]) => ({ id, displayName, policy })),
  ).find(text);
const idsOf = (hits: readonly Hit[]): readonly string[] => hits.slice(1).map(({ id }) => id);

describe('the search of MCP servers', () => {
  it('matches parts of ids and names in any case, and lists servers after stored hits, an exact id first', async () => {
    const servers = [
      ['old-files', 'Archive'],
      ['files', 'Our Files'],
      ['web', 'FILES of the web'],
      ['mail', 'Mail'],
    ] as const;
    const found = await search('files', servers);
    expect(found[0]).toBe(stored);
    expect(found[1]).toEqual({ kind: 'mcp_server', id: 'files', title: 'Our Files', detail: 'files' });
    expect(idsOf(found)).toEqual(['files', 'old-files', 'web']);
    expect(idsOf(await search('FiLeS', servers))).toEqual(['old-files', 'files', 'web']);
    expect(idsOf(await search('our f', servers))).toEqual(['files']);
    expect(idsOf(await search('nothing', servers))).toEqual([]);
  });

  it('returns at most eight servers', async () => {
    const servers = Array.from({ length: 20 }, (_, n) => [`s${n}`, `Server ${n}`] as const);
    expect(idsOf(await search('server', servers))).toEqual(servers.slice(0, 8).map(([id]) => id));
  });
});
