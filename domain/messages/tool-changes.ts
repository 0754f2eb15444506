import {
  isAbsent,
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  mapObjects,
  membersOf,
  objectsOf,
  without,
  itemsIn,
} from '../shared/json.ts';
import { below, type Place, placeIn } from '../shared/place.ts';

/**
 * Changes of tools between the turns of a messages conversation: blocks of system messages that add a tool, by
 * reference to one in `tools` or by its definition, or that withdraw one
 * (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
 */

/** The tool that a block defines, with its name; `undefined` for other blocks, and for a tool that is still withheld. */
function definedTool({ type, tool }: JsonObject): NamedTool | undefined {
  const { type: how, definition } = membersOf(tool);
  if (type !== 'tool_addition' || how !== 'tool_definition') return undefined;
  const defined = membersOf(definition);
  const { name } = defined;
  return isString(name) && defined['defer_loading'] !== true ? { name, tool: defined } : undefined;
}

interface NamedTool {
  readonly name: string;
  readonly tool: JsonObject;
}

/** Where a conversation defines its first tool between the turns. */
export const placeOfDefinition = (messages: Json | undefined): Place =>
  below(
    'messages',
    placeIn(messages, ({ role, content }) =>
      role === 'system'
        ? below(
            '.content',
            placeIn(content, (block) => (definedTool(block) === undefined ? undefined : '.tool')),
          )
        : undefined,
    ),
  );

/**
 * The same conversation for an upstream that knows changes by reference only: a tool that is defined between the turns
 * is deferred in `tools`, and referred to where it was defined. A deferred tool is no part of the prompt before it is
 * added, so that caches and signed thinking stay valid. A second, different definition of a name stays as it is,
 * because no reference can say it, and so do all if `tools` has none that is offered from the start: upstreams refuse
 * that.
 */
export function withToolsByReference(body: JsonObject): JsonObject {
  const { tools, messages } = body;
  if (!isArray(tools) || !isArray(messages) || objectsOf(tools).every(isDeferred)) return body;
  const defined = systemBlocksOf(messages).flatMap((block) => definedTool(block) ?? []);
  if (defined.length === 0) return body;
  const written = new Map(objectsOf(tools).map((tool) => [tool['name'], definitionText(tool)]));
  const added: JsonObject[] = [];
  for (const { name, tool } of defined) {
    if (written.has(name)) continue;
    written.set(name, definitionText(tool));
    added.push({ ...without(tool, 'cache_control'), defer_loading: true });
  }
  const referring = (block: JsonObject): readonly JsonObject[] => {
    const own = definedTool(block);
    return own === undefined || written.get(own.name) !== definitionText(own.tool)
      ? [block]
      : [{ ...block, tool: { type: 'tool_reference', name: own.name } }];
  };
  return { ...body, tools: [...tools, ...added], messages: withSystemBlocks(messages, referring) };
}

/**
 * The same conversation for an upstream that knows no changes: `tools` are those that the changes leave, with those
 * that they define. What is not a function of the caller's, or is referred to in another way, stays where it is, so
 * that it is refused there.
 */
export function withChangedTools(body: JsonObject): JsonObject {
  const { tools, messages } = body;
  if (!isArray(messages)) return body;
  const changes = systemBlocksOf(messages).flatMap((block) => changeOf(block) ?? []);
  if (changes.length === 0) return body;
  const changed = new Map<Json | undefined, Change>();
  for (const change of changes) {
    const tool = change.tool ?? changed.get(change.name)?.tool;
    changed.set(change.name, { ...change, tool });
  }
  const front = itemsIn(tools);
  const left = front.flatMap((tool): readonly Json[] =>
    isObject(tool) ? leftOf(tool, changed.get(tool['name'])) : [tool],
  );
  const declared = new Set(objectsOf(front).map(({ name }) => name));
  const added = [...changed.values()].flatMap(({ name, isOffered, tool }) =>
    isOffered && tool !== undefined && !declared.has(name) ? [tool] : [],
  );
  const kept = withSystemBlocks(messages, (block) => (changeOf(block) === undefined ? [block] : []));
  const offered = [...left, ...added];
  return { ...body, ...(front === tools || offered.length > 0 ? { tools: offered } : {}), messages: kept };
}

/** What a block does with a tool, by its name. */
interface Change {
  readonly name: string;
  readonly isOffered: boolean;
  /** Its definition, if it has a new one. */
  readonly tool?: JsonObject | undefined;
}

/** A tool that is added is no longer deferred: the block that would add it is not sent. */
function leftOf(tool: JsonObject, change: Change | undefined): readonly JsonObject[] {
  if (change === undefined) return [tool];
  return change.isOffered ? [without(change.tool ?? tool, 'defer_loading')] : [];
}

function changeOf(block: JsonObject): Change | undefined {
  const { type, tool } = block;
  const defined = definedTool(block);
  if (defined !== undefined) return isFunction(defined.tool) ? { ...defined, isOffered: true } : undefined;
  const { type: how, name } = membersOf(tool);
  if (how !== 'tool_reference' || !isString(name)) return undefined;
  if (type === 'tool_removal') return { name, isOffered: false };
  return type === 'tool_addition' ? { name, isOffered: true } : undefined;
}

/** The other types are tools that the messages API's own servers or models provide. */
const isFunction = ({ type }: JsonObject): boolean => isAbsent(type) || type === 'custom';

const isDeferred = ({ defer_loading: deferred }: JsonObject): boolean => deferred === true;

/** A tool without when it is loaded and what is cached, as one text. */
const definitionText = (tool: JsonObject): string =>
  JSON.stringify(without(tool, 'defer_loading', 'cache_control'));

const systemBlocksOf = (messages: readonly Json[]): readonly JsonObject[] =>
  objectsOf(messages).flatMap(({ role, content }) => (role === 'system' ? objectsOf(content) : []));

/** The messages with other blocks in those of the system. */
const withSystemBlocks = (
  messages: readonly Json[],
  change: (block: JsonObject) => readonly Json[],
): readonly Json[] =>
  mapObjects(messages, (message) =>
    message['role'] === 'system' && isArray(message['content'])
      ? {
          ...message,
          content: message['content'].flatMap((block) => (isObject(block) ? change(block) : [block])),
        }
      : message,
  );
