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

describe('the URI of a resource in the union', () => {
  it('leads to its server and to the URI that the server knows, and is no other resource’s', () => {
    fc.assert(
      fc.property(serverId, uri, (id, own) => {
        expect(readUnionUri(unionUri({ serverId: id, uri: own }) ?? '')).toEqual({ serverId: id, uri: own });
      }),
    );
  });

  it('is one that clients can parse and write again, and leads to its server still', () => {
    fc.assert(
      fc.property(serverId, fc.webUrl(), (id, own) => {
        const whole = unionUri({ serverId: id, uri: own }) ?? '';
        expect(readUnionUri(new URL(whole).href)?.serverId).toBe(id);
      }),
    );
  });

  it('of a template stays a template: what a client expands it to leads to the server', () => {
    const template = unionUri({ serverId: 'files', uri: 'file:///{+path}?q={q}' }) ?? '';
    const expanded = template.replace('{+path}', 'a/b').replace('{q}', 'c');
    expect(readUnionUri(expanded)).toEqual({ serverId: 'files', uri: 'file:///a/b?q=c' });
  });

  it('has an end: what is longer is neither listed nor read', () => {
    const longest = 'x'.repeat(8192 - 'mcp+files+'.length);
    expect(unionUri({ serverId: 'files', uri: longest })).toHaveLength(8192);
    expect(unionUri({ serverId: 'files', uri: `${longest}x` })).toBeUndefined();
    expect(readUnionUri(`mcp+files+${longest}x`)).toBeUndefined();
  });

  it.each(['', 'file:///a', 'mcp+', 'mcp+files', 'mcp+files+', 'mcp++a', 'mcp+FILES+a', 'xmcp+files+a'])(
    'is not %j',
    (text) => {
      expect(readUnionUri(text)).toBeUndefined();
    },
  );
});

describe('a result', () => {
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
  ])('%j has its resources under other URIs', (result, changed) => {
    expect(withUris(result, change)).toEqual(changed);
  });

  it('keeps its digits, and its text where it shows no resource', () => {
    const plain = '{"jsonrpc": "2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}}';
    expect(withUnionUris(plain, JSON.parse(plain).result, 'files')).toBe(plain);
    const read = '{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a:b","size":1.0}]}}';
    expect(withUnionUris(read, JSON.parse(read).result, 'files')).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"mcp+files+a:b","size":1.0}]}}',
    );
  });
});
