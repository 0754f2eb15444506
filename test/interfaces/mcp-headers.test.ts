import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { mcpHeaders } from '../../interfaces/http/mcp/mcp-headers.ts';

const read = (headers: Readonly<Record<string, string | string[]>>) => {
  const req = new IncomingMessage(new Socket());
  Object.assign(req.headers, headers);
  return mcpHeaders(req);
};
const long = (chars: number): string => 'x'.repeat(chars);

describe('the headers of an MCP call', () => {
  it.each([
    ['2026-07-28', '2026-07-28'],
    [long(32), long(32)],
    [long(33), undefined],
    ['', undefined],
    ['a b', undefined],
    ['1,2', undefined],
  ])('name the revision only if it can be one: %j', (version, protocolVersion) => {
    expect(read({ 'mcp-protocol-version': version })).toMatchObject({ protocolVersion });
  });

  it.each([
    ['7 ~', '7 ~'],
    [long(8192), long(8192)],
    [long(8193), undefined],
    ['', undefined],
    ['ü', undefined],
    ['a\tb', undefined],
  ])('name the last event only in visible characters, up to 8,192', (id, lastEventId) => {
    expect(read({ 'last-event-id': id }).lastEventId).toBe(lastEventId);
  });

  it('that repeat parts of the body are kept as they are, and no other header of the caller', () => {
    const kept = {
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?w7w=?=',
      'mcp-param-a_b-1': 'x',
      [`mcp-param-${long(128)}`]: long(8192),
    };
    const others = {
      'mcp-session-id': 's',
      'mcp-param-': 'x',
      [`mcp-param-${long(129)}`]: 'x',
      'mcp-param-a.b': 'x',
      'x-mcp-method': 'x',
      'mcp-method-x': 'x',
      'mcp-param-odd': 'ü',
      'mcp-param-empty': '',
      'mcp-param-long': long(8193),
      authorization: 'x',
    };
    const headers = read({ ...others, ...kept });
    expect(headers).toMatchObject({ method: 'tools/call', name: 'ü' });
    expect(headers.mirrored).toEqual(kept);
  });

  it.each([
    ['plain', 'plain'],
    ['=?base64?w7w=?=', 'ü'],
    ['=?base64??=', ''],
    ['a=?base64?w7w=?=', 'a=?base64?w7w=?='],
    ['=?base64?w7w=?=a', '=?base64?w7w=?=a'],
    ['=?base64?w7w-?=', '=?base64?w7w-?='],
  ])('have a name that may be in base64: %s', (given, name) => {
    expect(read({ 'mcp-name': given })).toMatchObject({ name });
  });

  it('are absent where the caller sends none', () => {
    expect(read({})).toEqual({ mirrored: {} });
  });
});
