import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readUnionName, unionName, unionNames } from '../../../domain/mcp/tool-names.ts';
import { textDigest } from '../../../infrastructure/text-digest.ts';

const serverId = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/);
const tool = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,70}$/),
  fc.constantFrom('', '_', '__', 'a b', 'ä', 'x'.repeat(300), 'a__0123456789', `y__${'0'.repeat(10)}`),
  fc.string({ maxLength: 80, size: 'max' }),
);
const tools = fc.uniqueArray(fc.record({ serverId, tool }), {
  maxLength: 50,
  size: 'max',
  selector: ({ serverId: id, tool: name }) => JSON.stringify([id, name]),
});

describe('the name of a tool in the union of servers', () => {
  it('has at most 64 letters, digits, `_` and `-`, and decodes to its server', () => {
    fc.assert(
      fc.property(serverId, tool, (id, name) => {
        const named = unionName({ serverId: id, tool: name }, textDigest);
        expect(named).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        const read = readUnionName(named);
        expect(read?.serverId).toBe(id);
        expect([name, undefined]).toContain(read?.tool);
      }),
    );
  });

  it('is unique, and does not depend on the other tools', () => {
    fc.assert(
      fc.property(tools, (all) => {
        const names = unionNames(all, textDigest);
        expect([...names.values()]).toEqual(all);
        for (const [name, each] of names) expect(unionName(each, textDigest)).toBe(name);
      }),
    );
  });

  it.each([
    ['files', 'read', 'files__read', 'read'],
    ['a-b', '_x', 'a-b___x', '_x'],
    ['files', 'read file', /^files__read_file__[\w-]{10}$/, undefined],
    ['files', 'x'.repeat(200), /^files__x{45}__[\w-]{10}$/, undefined],
    ['files', 'read__0123456789', /^files__read__0123456789__[\w-]{10}$/, undefined],
  ])('of server %s and tool %s', (id, name, union, read) => {
    const named = unionName({ serverId: id, tool: name }, textDigest);
    expect(named).toEqual(typeof union === 'string' ? union : expect.stringMatching(union));
    expect(readUnionName(named)).toEqual({ serverId: id, tool: read });
  });

  it.each(['', 'read', '__read', '_a'])('cannot be %j', (name) => {
    expect(readUnionName(name)).toBeUndefined();
  });
});
