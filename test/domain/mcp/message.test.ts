import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { mcpErrorMessage, mcpErrors, mcpErrorStatus } from '../../../domain/mcp/mcp-error.ts';
import { agreesWithHeaders, calledTool, readMcpMessage, withParams } from '../../../domain/mcp/message.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { steepGrowth } from '../../support/growth/growth.ts';
import { readServerMessage, withTools } from '../../../domain/mcp/server-message.ts';

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };

describe('an MCP message from a caller', () => {
  it.each([
    [call, 'request'],
    [{ ...call, id: 'a' }, 'request'],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }, 'notification'],
    [{ jsonrpc: '2.0', method: 'notifications/initialized', params: null }, 'notification'],
    [{ jsonrpc: '2.0', id: 1, method: 'tools/list', params: null }, 'request'],
    [{ jsonrpc: '2.0', id: 7, result: {} }, 'response'],
    [{ jsonrpc: '2.0', id: 7, error: { code: 1, message: 'no' } }, 'response'],
    [
      { ...call, params: { _meta: { progressToken: 1 }, inputResponses: {}, [`N${'x'.repeat(80)}`]: 1 } },
      'request',
    ],
    [{ ...call, method: 'm'.repeat(256), id: 'x'.repeat(256) }, 'request'],
  ])('%j is a %s', (message, kind) => {
    expect(readMcpMessage(JSON.stringify(message))).toMatchObject(E.right({ message: { kind } }));
  });

  it.each(['jsonrpc', 'id', 'method', 'params', 'result', 'error', 'name', 'arguments', 'uri', 'ref'])(
    'is rejected if it has the key `%s` in another case or with compatibility characters',
    (key) => {
      const wide = String.fromCodePoint(key.charCodeAt(0) + 0xfee0) + key.slice(1);
      for (const other of [key.toUpperCase(), wide])
        for (const message of [
          { ...call, [other]: 1 },
          { ...call, params: { ...call.params, [other]: 1 } },
        ])
          expect(readMcpMessage(JSON.stringify(message))).toMatchObject(E.left({ code: 'invalid_request' }));
    },
  );

  it('is read in time proportional to its length, whatever its keys are', () => {
    const key = (count: number) => `a${'\u0301'.repeat(count)}${'\u0316'.repeat(count)}`;
    const grows = steepGrowth((count) => {
      const text = JSON.stringify({ ...call, [key(count)]: 1 });
      return () => void readMcpMessage(text);
    });
    expect(grows).toBeUndefined();
  });

  it.each([
    ['{', 'parse_error'],
    ['', 'parse_error'],
    [JSON.stringify([call]), 'batch_not_supported'],
    ['[]', 'batch_not_supported'],
    ['null', 'invalid_request'],
    ['{}', 'invalid_request'],
    [JSON.stringify({ ...call, jsonrpc: '1.0' }), 'invalid_request'],
    [JSON.stringify({ ...call, id: null }), 'invalid_request'],
    [JSON.stringify({ ...call, id: 1.5 }), 'invalid_request'],
    [JSON.stringify({ ...call, id: {} }), 'invalid_request'],
    [JSON.stringify({ ...call, id: 'x'.repeat(257) }), 'invalid_request'],
    [JSON.stringify({ ...call, method: '' }), 'invalid_request'],
    [JSON.stringify({ ...call, method: 'm'.repeat(257) }), 'invalid_request'],
    [JSON.stringify({ jsonrpc: '2.0', id: 1.5, result: {} }), 'invalid_request'],
    [JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'echo' } }), 'invalid_request'],
    [JSON.stringify({ ...call, method: 7 }), 'invalid_request'],
    [JSON.stringify({ ...call, params: [] }), 'invalid_request'],
    [JSON.stringify({ jsonrpc: '2.0', id: 1 }), 'invalid_request'],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}', 'invalid_request'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call"}', 'invalid_request'],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}', 'invalid_request'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Arguments":{}}}',
      'invalid_request',
    ],
    ['{"jsonrpc":"2.0","method":"ping","ID":1,"Method":"tools/call"}', 'invalid_request'],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"paramſ":{"name":"b"}}', 'invalid_request'],
    [`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[${'1,'.repeat(100_000)}1]}}`, 'request_too_large'],
    [
      `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":${'['.repeat(300)}${']'.repeat(300)}}}`,
      'invalid_request',
    ],
  ])('message %s is rejected with %s', (text, code) => {
    expect(readMcpMessage(text)).toMatchObject(E.left({ code }));
  });

  it('is parsed or rejected, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        readMcpMessage(text);
      }),
    );
  });
});

describe('a message that is forwarded with other params', () => {
  it('keeps its digits, its blanks and its other members', () => {
    const text =
      '{ "params": {"name":"own__a", "arguments":{"x":1.0,"big":12345678901234567890}}, "id":1.0,"jsonrpc":"2.0" }';
    expect(withParams(text, { name: 'a' })).toBe(text.replace('own__a', 'a'));
    expect(withParams('{"id":1}', { name: 'a' })).toBe('{"id":1}');
  });
});

describe('an MCP message from a server', () => {
  it.each([
    ['{"jsonrpc"', 'upstream_protocol'],
    ['[]', 'upstream_protocol'],
    ['{"jsonrpc":"2.0","id":1}', 'upstream_protocol'],
    [`{"jsonrpc":"2.0","id":1,"result":${'['.repeat(300)}${']'.repeat(300)}}`, 'upstream_protocol'],
    [`{"jsonrpc":"2.0","id":1,"result":[${'{},'.repeat(100_000)}{}]}`, 'result_too_large'],
  ])('server message %.40s is rejected with %s', (text, code) => {
    expect(readServerMessage(text)).toMatchObject(E.left({ code }));
  });
});

describe('headers `Mcp-Method` and `Mcp-Name`', () => {
  const message = readMcpMessage(JSON.stringify(call));
  it.each([
    [undefined, undefined, true],
    ['tools/call', 'echo', true],
    ['tools/list', undefined, false],
    ['tools/call', 'other', false],
    [undefined, 'other', false],
  ])('method %j and name %j agree with the body: %s', (method, name, agrees) => {
    expect(E.isRight(message) && agreesWithHeaders(message.right.message, { method, name })).toBe(agrees);
  });
});

describe('the name in a message', () => {
  it.each([
    ['prompts/get', 'name'],
    ['resources/read', 'uri'],
    ['tasks/get', 'taskId'],
    ['tasks/update', 'taskId'],
    ['tasks/cancel', 'taskId'],
  ])('for method %s is the member %s, and no other member', (method, member) => {
    const agrees = (params: JsonObject): boolean =>
      agreesWithHeaders({ kind: 'request', id: 1, method, params }, { method, name: 'a' });
    expect([agrees({ [member]: 'a' }), agrees({ [member]: 'b', other: 'a' })]).toEqual([true, false]);
  });

  it.each([
    [undefined, undefined, true],
    ['tools/call', undefined, false],
    [undefined, 'echo', false],
  ])('is absent in a response, as the method is: method %j and name %j agree: %s', (method, name, agrees) => {
    expect(agreesWithHeaders({ kind: 'response' }, { method, name })).toBe(agrees);
  });

  it.each([
    ['echo', 'echo'],
    ['t'.repeat(256), 't'.repeat(256)],
    ['t'.repeat(257), undefined],
    ['', undefined],
    [7, undefined],
  ])('is a tool name if it has 1 to 256 characters: %j', (name, tool) => {
    expect(calledTool({ params: { name } })).toBe(tool);
  });
});

describe('an MCP error', () => {
  it.each(Object.keys(mcpErrors) as (keyof typeof mcpErrors)[])(
    '%s is a JSON-RPC error with its code in `data.error_code`; without a request its status is not 200',
    (code) => {
      const error = { code, message: 'words' };
      expect(mcpErrorMessage(error, 'id-1')).toEqual({
        jsonrpc: '2.0',
        id: 'id-1',
        error: { code: mcpErrors[code].rpcCode, message: 'words', data: { error_code: code } },
      });
      expect(mcpErrorMessage(error, undefined)).toMatchObject({ id: null });
      const { status } = mcpErrors[code];
      expect(mcpErrorStatus(error, 1)).toBe(status === 'answer' ? 200 : status);
      expect(mcpErrorStatus(error, undefined)).toBeGreaterThanOrEqual(400);
    },
  );
});

describe('a filtered list of tools', () => {
  it('keeps the digits and the other members of the server’s text', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","x":1.0},{"name":"b"},7],"nextCursor":"c"}}';
    expect(withTools(text, (tool) => tool === 'a')).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","x":1.0}],"nextCursor":"c"}}',
    );
  });
});
