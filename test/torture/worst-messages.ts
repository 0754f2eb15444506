import { maxEscapedKeys, maxMcpRequestBytes, maxMcpValues } from '../../domain/shared/limits.ts';

/** Just below the limits of one MCP message, with room for the rest of the message. */
const bytes = maxMcpRequestBytes - 2048;
const values = maxMcpValues - 100;

const filled = (piece: string): string => `"${piece.repeat(Math.floor(bytes / piece.length) - 1)}"`;

const often = (piece: (index: number) => string, count = values): string =>
  Array.from({ length: count }, (_, index) => piece(index)).join(',');

/** Bytes per value if the maximum number of values fills a message. */
const share = Math.floor(bytes / values);

/** The content that arguments or a result repeat. */
const worstValues = {
  'one text': () => filled('a'),
  quotes: () => filled('\\"'),
  'JSON in a text': () => filled('{\\"a\\":1},'),
  'URLs in a text': () => filled('https://h/p?q=1 '),
  'letters beyond ASCII': () => `"${'é'.repeat(bytes / 2)}"`,
  'empty objects': () => `[${often(() => '{}')}]`,
  texts: () => `[${often(() => `"${'a'.repeat(share - 4)}"`)}]`,
  members: () => `{${often((index) => `"k${index}":"${'v'.repeat(share - 13)}"`)}}`,
  'escaped keys': () => `{${often((index) => `"\\u006b${index}":1`, maxEscapedKeys - 100)}}`,
} as const satisfies Record<string, () => string>;

export type WorstValue = keyof typeof worstValues;
export const valueNames = Object.keys(worstValues) as readonly WorstValue[];

/** The tool that returns such a value. */
const giver = (value: WorstValue): string => `give_${value.replaceAll(' ', '-')}`;

/** A caller's request: a call with such arguments, a call with such a result, or a list of many tools. */
export type McpExchange =
  | { readonly kind: 'arguments' | 'result'; readonly value: WorstValue }
  | { readonly kind: 'list' };

const message = (rest: string, id = '1'): string => `{"jsonrpc":"2.0","id":${id},${rest}}`;

export const mcpInitialize = message(
  '"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"drill","version":"1"}}',
);

export const mcpRequest = (ask: McpExchange): string => {
  if (ask.kind === 'list') return message('"method":"tools/list"');
  const [name, z] = ask.kind === 'arguments' ? ['take', worstValues[ask.value]()] : [giver(ask.value), '1'];
  return message(`"method":"tools/call","params":{"name":"${name}","arguments":{"z":${z}}}`);
};

/** As many tools as fit into a message, with seven values each. */
const manyTools = (): string => {
  const count = Math.floor(values / 7) - 10;
  const schema = `{"type":"object","description":"${'d'.repeat(7 * share - 140)}"}`;
  return often((index) => `{"name":"tool_${index}","title":"Tool","inputSchema":${schema}}`, count);
};

/** The result of a server whose tools do what their names say. */
const resultOf = (request: string): string => {
  if (request.includes('"method":"initialize"'))
    return '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"drill","version":"1"}}';
  if (request.includes('"method":"tools/list"')) return `{"tools":[${manyTools()}]}`;
  const given = valueNames.find((value) => request.includes(`"${giver(value)}"`));
  return `{"content":[],"structuredContent":{"z":${given === undefined ? '1' : worstValues[given]()}}}`;
};

/** The server's answer by the beginning of the message; undefined if it is not a request. */
export const mcpAnswer = (begin: string): string | undefined => {
  const [, id] = /"id":(\d+|"[^"]*")/.exec(begin) ?? [];
  return id === undefined ? undefined : message(`"result":${resultOf(begin)}`, id);
};
