import { createHash } from 'node:crypto';
import { isSameJson } from '../same-json.ts';
import * as E from 'fp-ts/lib/Either.js';
import { isId } from '../../../domain/mcp/message-id.ts';
import { agreesWithHeaders, calledTool, readMcpMessage, withParams } from '../../../domain/mcp/message.ts';
import { mcpErrors, type McpError } from '../../../domain/mcp/mcp-error.ts';
import { readUnionUri, unionUri } from '../../../domain/mcp/resource-uris.ts';
import {
  exactResult,
  listedName,
  listedTools,
  readServerMessage,
  withTools,
  withUnionUris,
} from '../../../domain/mcp/server-message.ts';
import { readUnionName, unionName } from '../../../domain/mcp/tool-names.ts';
import { isObject, type JsonObject, parseJson } from '../../../domain/shared/json.ts';
import { sealedSessions } from '../../../infrastructure/mcp/sealed-sessions.ts';
import { textDigest } from '../../../infrastructure/text-digest.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';
import { jsonWords } from './words.ts';

function demandKnown({ code, message }: McpError): string {
  demand(Object.hasOwn(mcpErrors, code) && message !== '', 'an error that nobody knows');
  return roughly(`${code} ${message}`);
}

/** The members of the message other than the changed one. */
const others = (text: string, changed: string): JsonObject => {
  const value = parseJson(text);
  demand(isObject(value), 'an edit makes something else of a message');
  const { [changed]: _, ...rest } = value;
  return rest;
};

const change: JsonObject = { name: 'changed', added: [1.5, 'é'] };

function checkCaller(input: Buffer, probe: Probe): string {
  const text = input.toString('utf8');
  const read = probe.step(() => readMcpMessage(text));
  if (E.isLeft(read)) return demandKnown(read.left);
  const { message } = read.right;
  const value = parseJson(text);
  demand(isObject(value) && value['jsonrpc'] === '2.0', 'what is no JSON-RPC is read');
  if (message.kind === 'response') return 'response';
  demand(value['method'] === message.method, 'another method is called than the one that is judged');
  demand(isSameJson(value['params'] ?? {}, message.params), 'other parameters are sent than are judged');
  demand(message.kind !== 'request' || (isId(message.id) && value['id'] === message.id), 'another id');
  const tool = calledTool(message);
  demand(
    tool === undefined || (isObject(value['params']) && value['params']['name'] === tool),
    'another tool',
  );
  agreesWithHeaders(message, { method: message.method, name: tool });
  const edited = probe.step(() => withParams(text, change));
  demand(isSameJson(others(edited, 'params'), others(text, 'params')), 'an edit changes another member');
  if (isObject(value['params'])) {
    const { params } = parseJson(edited) as JsonObject;
    demand(
      isObject(params) && isSameJson({ ...params }, { ...message.params, ...change }),
      'an edit is not what was asked',
    );
  }
  return `${message.kind} ${roughly(message.method).slice(0, 24)} ${tool !== undefined}`;
}

function checkServer(input: Buffer, probe: Probe): string {
  const text = input.toString('utf8');
  const read = probe.step(() => readServerMessage(text));
  if (E.isLeft(read)) return demandKnown(read.left);
  const { message } = read.right;
  if (message.kind !== 'response') return message.kind;
  const tools = listedTools(message.result);
  const fewer =
    tools === undefined ? undefined : probe.step(() => withTools(text, (tool) => tool.length % 2 === 0));
  if (fewer !== undefined) demandFewer(text, fewer);
  const shown = probe.step(() => withUnionUris(text, message.result, 'files'));
  demand(isSameJson(others(shown, 'result'), others(text, 'result')), 'an edit changes another member');
  const exact = probe.step(() => exactResult(text));
  demand(
    isSameJson(exact === undefined ? undefined : parseJson(JSON.stringify(exact)), message.result),
    'the result that keeps its digits is another one',
  );
  return `${tools?.length === undefined ? 'no list' : Math.min(3, tools.length)} ${shown !== text} ${message.error !== undefined}`;
}

function demandFewer(text: string, fewer: string): void {
  demand(isSameJson(others(fewer, 'result'), others(text, 'result')), 'an edit changes another member');
  const { result } = parseJson(fewer) as JsonObject;
  demand(
    (listedTools(result) ?? []).every((tool) => (listedName(tool)?.length ?? 1) % 2 === 0),
    'a tool is shown that may not be',
  );
}

function checkNames(input: Buffer, probe: Probe): string {
  const text = input.toString('utf8');
  const [serverId = '', ...rest] = text.split('\n');
  const own = rest.join('\n');
  const uri = probe.step(() => readUnionUri(text));
  demand(uri === undefined || unionUri(uri) === text, 'a URI of the union is another one on its way back');
  const id = /^[a-z0-9-]{1,40}$/.test(serverId) ? serverId : 'files';
  const made = unionUri({ serverId: id, uri: own });
  demand(
    made === undefined || isSameJson(readUnionUri(made), { serverId: id, uri: own }),
    'a URI leads elsewhere',
  );
  const name = probe.step(() => unionName({ serverId: id, tool: own }, textDigest));
  demand(/^[A-Za-z0-9_-]{1,64}$/.test(name), 'a name that providers do not take');
  const back = readUnionName(name);
  demand(
    back?.serverId === id && (back.tool === undefined || back.tool === own),
    'a name leads to another tool',
  );
  readUnionName(text);
  return `${uri !== undefined} ${made !== undefined} ${back.tool !== undefined}`;
}

const secret = createHash('sha256').update('of the sessions').digest();
const sessions = sealedSessions(
  () => Promise.resolve(secret),
  (error) => {
    throw error;
  },
);
const upstream = {
  files: { id: 'one', revision: '2025-06-18' },
  web: { id: undefined, revision: undefined },
};

/** The input modifies a sealed id: as a mask over its bytes, as an id itself, or as a suffix. */
async function checkSession(input: Buffer, probe: Probe): Promise<string> {
  const sealed = await sessions.seal('key-1', { place: 'all', upstream });
  demand(E.isRight(sealed), 'a session is not sealed');
  const bytes = Buffer.from(sealed.right, 'base64url');
  const masked = Buffer.from(bytes.map((byte, index) => byte ^ (input[index] ?? 0)));
  const ids = [
    masked.toString('base64url'),
    input.toString('latin1'),
    sealed.right + input.toString('latin1'),
  ];
  for (const id of ids) {
    const opened = await probe.step(() => sessions.open('key-1', 'all', id));
    const isOurs = Buffer.from(id, 'base64url').equals(bytes);
    demand(
      E.isLeft(opened) || (isOurs && isSameJson(opened.right.upstream, upstream)),
      'a session opens that was not sealed',
    );
  }
  const elsewhere = await sessions.open('key-2', 'all', sealed.right);
  demand(E.isLeft(elsewhere), 'a session opens for another key');
  return `${masked.equals(bytes)}`;
}

const rpc = (message: object): Buffer => Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
const link = { type: 'resource_link', uri: 'file:///a', name: 'a' };

const words: readonly string[] = [
  '"jsonrpc":"2.0"',
  '"id":1',
  '"method":',
  '"params":',
  '"result":',
  '"error":',
  '"name":',
  '"arguments":',
  '"uri":',
  '"tools":',
  '"contents":',
  '"content":',
  '"messages":',
  '"resource_link"',
  '"isError":true',
  '"ref":',
  '"Method":',
  'tools/call',
  'tools/list',
  'initialize',
  'mcp+files+',
  '__',
  '+',
  '"METHOD"',
  '"ſ"',
  '"_meta":',
  ...jsonWords,
];

export const mcpTargets: readonly Target[] = [
  {
    name: 'mcp: messages of callers',
    samples: [
      rpc({
        id: 1,
        method: 'tools/call',
        params: { name: 'files__read', arguments: { path: '/a', n: 1.0 } },
      }),
      rpc({ id: 'x', method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {} } }),
      rpc({ method: 'notifications/initialized' }),
      rpc({
        id: 3,
        method: 'completion/complete',
        params: { ref: { type: 'ref/resource', uri: 'mcp+files+file:///{a}' } },
      }),
      rpc({ id: 7, result: { action: 'accept' } }),
    ],
    words,
    check: checkCaller,
  },
  {
    name: 'mcp: messages of servers',
    samples: [
      rpc({
        id: 1,
        result: { tools: [{ name: 'read', inputSchema: { type: 'object' } }, { name: 'write_all' }] },
      }),
      rpc({ id: 2, result: { content: [{ type: 'text', text: 'é' }, link], isError: true, n: 12.5 } }),
      rpc({
        id: 3,
        result: { contents: [{ uri: 'file:///a', text: 'x' }], messages: [{ role: 'user', content: link }] },
      }),
      rpc({ id: 4, error: { code: -32_601, message: 'No such method', data: [1] } }),
      rpc({ method: 'notifications/progress', params: { progress: 0.5 } }),
      rpc({ id: 's-1', method: 'sampling/createMessage', params: {} }),
    ],
    words,
    check: checkServer,
  },
  {
    name: 'mcp: names of the union',
    samples: ['files\nread', 'web\nfile:///a/{b}', 'mcp+files+file:///a', `a\n${'x'.repeat(80)}`].map(
      (text) => Buffer.from(text),
    ),
    words: ['__', 'mcp+', '+', '_', '-', 'a'.repeat(64), '__0123456789'],
    check: checkNames,
  },
  {
    name: 'mcp: ids of sessions',
    samples: [Buffer.alloc(0), Buffer.from([1]), Buffer.from('AAAA'), Buffer.alloc(40)],
    words: ['=', '-', '_', '\0', 'A'],
    check: checkSession,
  },
];
