import {
  isObject,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
  textIn,
  itemsIn,
} from '../shared/json.ts';

const addedTools = 'additional_tools';
const agentMessage = 'agent_message';
const contextCompaction = 'context_compaction';
const defaultNamespace = 'functions';
/** Namespaces of the platform's own tools. Codex offers tools of its own in them, unasked. */
const reservedNamespaces: readonly string[] = ['web', 'image_gen'];

const words: readonly string[] = [
  addedTools,
  agentMessage,
  contextCompaction,
  ...[defaultNamespace, ...reservedNamespaces].map((name) => `"${name}"`),
  '\\u',
];

/** A quick check whether `withKnownItems` may change a body. A word may be spelled with escapes. */
export const mayHaveUnknownItems = (body: string): boolean => words.some((word) => body.includes(word));

/**
 * The body with items that platform B knows (rule 17.42). Its API rejects some that coding agents write, although it
 * has what they mean: tools among the items are tools of the request, a message between agents is a message, and a
 * compaction has another name. It also reserves the namespace `functions`, which agents write for tools without one, and
 * those of its own tools, so that others in them cannot be offered. Returns the same value when there is none of these.
 */
export function withKnownItems(body: JsonObject): JsonObject {
  const items = itemsIn(body['input']);
  const tools = itemsIn(body['tools']);
  const known = items.flatMap(knownItems);
  const all = [...tools, ...objectsOf(items).flatMap(toolsAmong)].flatMap(withoutReserved);
  const changes = {
    ...(isSameList(items, known) ? {} : { input: known }),
    ...(isSameList(tools, all) ? {} : { tools: all }),
  };
  return Object.keys(changes).length === 0 ? body : { ...body, ...changes };
}

const isSameList = (before: readonly Json[], after: readonly Json[]): boolean =>
  before.length === after.length && before.every((each, index) => each === after[index]);

const toolsAmong = ({ type, tools }: JsonObject): readonly Json[] =>
  type === addedTools ? itemsIn(tools) : [];

function withoutReserved(tool: Json): readonly Json[] {
  if (!isObject(tool) || tool['type'] !== 'namespace' || !isString(tool['name'])) return [tool];
  if (tool['name'] === defaultNamespace) return itemsIn(tool['tools']);
  return reservedNamespaces.includes(tool['name']) ? [] : [tool];
}

function knownItems(item: Json): readonly Json[] {
  if (!isObject(item)) return [item];
  const { type, content, encrypted_content: encrypted } = item;
  switch (textIn(type)) {
    case addedTools:
      return [];
    case agentMessage:
      return messageOf(objectsOf(content).flatMap(textsOf).join(''));
    case contextCompaction:
      return isString(encrypted) ? [{ type: 'compaction', encrypted_content: encrypted }] : [];
    default:
      return [item];
  }
}

/** What agents say to each other is in `encrypted_content`, as plain text where the model encrypts nothing. */
const textsOf = ({ text, encrypted_content: payload }: JsonObject): readonly string[] =>
  [text, payload].filter((each) => isString(each));

const messageOf = (text: string): readonly Json[] =>
  text === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }];
