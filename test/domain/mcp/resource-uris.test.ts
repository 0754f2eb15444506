import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readUnionUri, unionUri, withUris } from '../../../domain/mcp/resource-uris.ts';
import { withUnionUris } from '../../../domain/mcp/server-message.ts';

const serverId = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/);
const uri = fc.oneof(
  fc.constantFrom('file:///a', 'a+b://c', 'mcp+x+file:///a', 'no scheme', 'x\ny', '+', 'ö:{a}'),
  fc.webUrl(),
  fc.string({ minLength: 1, maxLength: 80, size: 'max' }),
);

describe('the URI of a resource in the union of servers', () => {
  it('decodes to its server and the server’s own URI, so it is unique', () => {
    fc.assert(
      fc.property(serverId, uri, (id, own) => {
        expect(readUnionUri(unionUri({ serverId: id, uri: own }) ?? '')).toEqual({ serverId: id, uri: own });
      }),
    );
  });

  it('still decodes to its server after a client has parsed and printed it', () => {
    fc.assert(
      fc.property(serverId, fc.webUrl(), (id, own) => {
        const whole = unionUri({ serverId: id, uri: own }) ?? '';
        expect(readUnionUri(new URL(whole).href)?.serverId).toBe(id);
      }),
    );
  });

  it('of a template is a template, and what a client expands it to decodes to the server', () => {
    const template = unionUri({ serverId: 'files', uri: 'file:///{+path}?q={q}' }) ?? '';
    const expanded = template.replace('{+path}', 'a/b').replace('{q}', 'c');
    expect(readUnionUri(expanded)).toEqual({ serverId: 'files', uri: 'file:///a/b?q=c' });
  });

  it('has at most 8192 characters: a longer one is neither listed nor read', () => {
    const longest = 'x'.repeat(8192 - 'mcp+files+'.length);
    expect(unionUri({ serverId: 'files', uri: longest })).toHaveLength(8192);
    expect(unionUri({ serverId: 'files', uri: `${longest}x` })).toBeUndefined();
    expect(readUnionUri(`mcp+files+${longest}x`)).toBeUndefined();
  });

  it.each(['', 'file:///a', 'mcp+', 'mcp+files', 'mcp+files+', 'mcp++a', 'mcp+FILES+a', 'xmcp+files+a'])(
    'cannot be %j',
    (text) => {
      expect(readUnionUri(text)).toBeUndefined();
    },
  );
});

describe('a result of a server', () => {
  const change = (own: string): string => `new:${own}`;
  it.each([
    [{ contents: [{ uri: 'a', text: 'uri' }, 7] }, { contents: [{ uri: 'new:a', text: 'uri' }, 7] }],
    [
      {
        content: [
          { type: 'resource_link', uri: 'a' },
          { type: 'text', text: 'a', uri: 'a' },
        ],
      },
      {
        content: [
          { type: 'resource_link', uri: 'new:a' },
          { type: 'text', text: 'a', uri: 'a' },
        ],
      },
    ],
    [
      { messages: [{ content: { type: 'resource', resource: { uri: 'a' } } }, { role: 'user' }, 7] },
      { messages: [{ content: { type: 'resource', resource: { uri: 'new:a' } } }, { role: 'user' }, 7] },
    ],
    [
      { messages: [{ content: [{ type: 'resource_link', uri: 'a' }] }] },
      { messages: [{ content: [{ type: 'resource_link', uri: 'new:a' }] }] },
    ],
    [
      { structuredContent: { uri: 'a' }, content: 'uri', contents: null },
      { structuredContent: { uri: 'a' }, content: 'uri', contents: null },
    ],
  ])('has the URIs of its resources replaced: %j', (result, changed) => {
    expect(withUris(result, change)).toEqual(changed);
  });

  it('keeps its digits, and its exact text if it has no resource', () => {
    const plain = '{"jsonrpc": "2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}}';
    expect(withUnionUris(plain, JSON.parse(plain).result, 'files')).toBe(plain);
    const read = '{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a:b","size":1.0}]}}';
    expect(withUnionUris(read, JSON.parse(read).result, 'files')).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"mcp+files+a:b","size":1.0}]}}',
    );
  });
});
