import {
  isArray,
  isString,
  type Json,
  type JsonObject,
  mapObjects,
  membersOf,
  objectsOf,
  without,
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
  const defined = definedBetween(messages);
  if (defined.length === 0) return body;
  const written = new Map(objectsOf(tools).map((tool) => [tool['name'], wordsOf(tool)]));
  const added: JsonObject[] = [];
  for (const { name, tool } of defined) {
    if (written.has(name)) continue;
    written.set(name, wordsOf(tool));
    added.push({ ...without(tool, 'cache_control'), defer_loading: true });
  }
  const referring = (block: JsonObject): JsonObject => {
    const own = definedTool(block);
    return own === undefined || written.get(own.name) !== wordsOf(own.tool)
      ? block
      : { ...block, tool: { type: 'tool_reference', name: own.name } };
  };
  return { ...body, tools: [...tools, ...added], messages: withSystemBlocks(messages, referring) };
}

const isDeferred = ({ defer_loading: deferred }: JsonObject): boolean => deferred === true;

/** A tool without when it is loaded and what is cached, as one text. */
const wordsOf = (tool: JsonObject): string => JSON.stringify(without(tool, 'defer_loading', 'cache_control'));

/** The tools that system messages define, in order. */
const definedBetween = (messages: Json | undefined): readonly NamedTool[] =>
  objectsOf(messages).flatMap(({ role, content }) =>
    role === 'system' ? objectsOf(content).flatMap((block) => definedTool(block) ?? []) : [],
  );

const withSystemBlocks = (
  messages: readonly Json[],
  change: (block: JsonObject) => JsonObject,
): readonly Json[] =>
  mapObjects(messages, (message) =>
    message['role'] === 'system' && isArray(message['content'])
      ? { ...message, content: mapObjects(message['content'], change) }
      : message,
  );
