import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { inputOf } from '../../../domain/calls/call-input.ts';
import { systemBlocks, textOfSystem } from '../../../domain/messages/blocks.ts';
import { assistantMembers } from '../../../domain/chat/assistant-message.ts';
import { readCall } from '../../../domain/chat/read-call.ts';
import type { ConversationIds } from '../../../domain/calls/conversation-ids.ts';
import { withoutTrailingSpace } from '../../../domain/chat/prefill.ts';
import {
  isAbsent,
  isObject,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
} from '../../../domain/shared/json.ts';
import {
  answersNoCall,
  emptyConversation,
  stringOf,
  unavailableWord,
} from '../../../domain/shared/field-errors.ts';
import {
  withMarkOnLastBlock,
  isMarked,
  lastMark,
  markOf,
  unmarked,
} from '../../../domain/messages/cache-marks.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import {
  assistantPart,
  type Blocks,
  contentBlocks,
  jsonBlock,
  resultPart,
  textBlocks,
  userPart,
} from './unified-content.ts';
import { asReminder } from '../../../domain/messages/system-turns.ts';
import { DocumentNames } from './unified-documents.ts';
import { maxToolNameChars } from './unified-limits.ts';
import { converseTurns, isResult, type Turn } from './unified-turns.ts';

/** What the translation of a conversation depends on. */
export interface Writing {
  readonly ids: ConversationIds;
  /**
   * Whether the request offers tools. Without them the platform takes no blocks of calls and results, so these are sent
   * as text: the model knows of them, and cannot call any tool.
   */
  readonly tools: boolean;
  /** Whether the model takes text in a turn that has calls or results. */
  readonly mixedTurns: boolean;
  /** Whether system messages between the turns stay in their place, as reminders of the user (rule 17.52). */
  readonly reminders: boolean;
}

/** The members of a converse body that hold the conversation. */
export interface Conversation {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
}

/** Chat messages as system blocks and turns. Consecutive messages of one role become one turn at first. */
export function conversation(
  messages: Json | undefined,
  writing: Writing,
): Either<GatewayError, Conversation> {
  const names = new DocumentNames();
  const system: JsonObject[] = [];
  const turns: OpenTurn[] = [];
  for (const [index, message] of objectsOf(messages).entries()) {
    const read = roleBlocksOf(message, `messages[${index}]`, names, writing);
    if (E.isLeft(read)) return read;
    const { role, blocks } = read.right;
    if (role !== 'system') addBlocks(turns, role, blocks);
    else if (turns.length === 0 || !writing.reminders) for (const block of blocks) system.push(block);
    else addBlocks(turns, 'user', blocks.map(asReminder));
    const images = assistantImages(message, `messages[${index}]`, names);
    if (E.isLeft(images)) return images;
    addBlocks(turns, 'user', images.right);
  }
  if (turns.length === 0) return E.left(emptyConversation);
  return E.right({
    system,
    messages: withoutTrailingSpace(converseTurns(turns, writing.mixedTurns)),
  });
}

/** Whether the conversation ends with tool results. */
export const endsInToolLoop = ({ messages }: Conversation): boolean =>
  objectsOf(messages.at(-1)?.['content']).some(isResult);

interface RoleBlocks {
  readonly role: Turn['role'] | 'system';
  readonly blocks: readonly JsonObject[];
}

interface OpenTurn extends Turn {
  readonly content: JsonObject[];
}

function addBlocks(turns: OpenTurn[], role: Turn['role'], blocks: readonly JsonObject[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role !== role) turns.push({ role, content: [...blocks] });
  else for (const block of blocks) last.content.push(block);
}

function roleBlocksOf(
  message: JsonObject,
  path: string,
  names: DocumentNames,
  writing: Writing,
): Either<GatewayError, RoleBlocks> {
  const { role, content } = message;
  const at = `${path}.content`;
  const by =
    (role: RoleBlocks['role']) =>
    (blocks: Blocks): Either<GatewayError, RoleBlocks> =>
      pipe(
        blocks,
        E.map((own) => ({ role, blocks: withMarkOnLastBlock(own, message) })),
      );
  switch (isString(role) ? role : '') {
    case 'system':
    case 'developer':
      return by('system')(pipe(systemBlocks(content ?? '', at), E.map(systemTexts)));
    case 'user':
      return by('user')(contentBlocks(content, at, userPart(names)));
    case 'assistant':
      return by('assistant')(assistantBlocks(message, path, writing));
    case 'tool':
      return by('user')(toolResult(message, path, names, writing));
    default:
      return E.left(unavailableWord(role, `${path}.role`));
  }
}

/** One text, or a text for each block if any of them has a cache mark. */
const systemTexts = (blocks: readonly JsonObject[]): readonly JsonObject[] =>
  blocks.some(isMarked)
    ? blocks.flatMap((block) => withMarkOnLastBlock(textBlocks(textOfSystem([block])), block))
    : textBlocks(textOfSystem(blocks));

/** Reasoning that callers send back is dropped, because it is not replayed. */
function assistantBlocks(message: JsonObject, path: string, writing: Writing): Blocks {
  const members = assistantMembers(message, path);
  if (E.isLeft(members)) return members;
  const content = contentBlocks(message['content'], `${path}.content`, assistantPart);
  if (E.isLeft(content)) return content;
  const { refusal, calls } = members.right;
  if (calls.length > 0) writing.ids.beginAnswer();
  const uses = E.traverseArrayWithIndex((index: number, call: JsonObject) =>
    toolUse(call, `${path}.tool_calls[${index}]`, writing),
  )(calls);
  return pipe(
    uses,
    E.map((blocks) => [...content.right, ...textBlocks(refusal), ...blocks]),
  );
}

/** Only the user can send images, so those that another model made are sent as the user's (rule 17.61). */
const assistantImages = ({ role, images }: JsonObject, path: string, names: DocumentNames): Blocks =>
  role === 'assistant' && !isAbsent(images)
    ? contentBlocks(images, `${path}.images`, userPart(names))
    : E.right([]);

function toolUse(call: JsonObject, path: string, { ids, tools }: Writing): Either<GatewayError, JsonObject> {
  const called = readCall(call, path);
  if (E.isLeft(called)) return called;
  const { id, name, text } = called.right;
  if (!tools) return E.right({ text: `The tool ${name} was called (${id}) with: ${text.trim() || '{}'}` });
  const toolUseId = ids.ofCall(id);
  return E.right({
    toolUse: { toolUseId, name: calledName(name), input: inputOf(text) },
    ...markOf(call),
  });
}

/**
 * The name of an earlier call as the platform takes it. A model may have called a tool that does not exist, by a name
 * that no tool can have here, and the call stays in the conversation (rule 17.50):
 * https://github.com/anomalyco/opencode/pull/48750
 */
const calledName = (name: string): string =>
  name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, maxToolNameChars);

function toolResult(message: JsonObject, path: string, names: DocumentNames, writing: Writing): Blocks {
  const id = stringOf(message, 'tool_call_id', path);
  if (E.isLeft(id)) return id;
  const { content: given } = message;
  const blocks = isObject(given)
    ? E.right([jsonBlock(given)])
    : contentBlocks(given, `${path}.content`, resultPart(names));
  if (E.isLeft(blocks)) return blocks;
  if (!writing.tools)
    return E.right([{ text: `The tool call ${id.right} answered:` }, ...blocks.right.map(asUserBlock)]);
  if (!writing.ids.knows(id.right)) return E.left(answersNoCall(path));
  const toolUseId = writing.ids.ofResult(id.right);
  const content = blocks.right.length === 0 ? emptyResult : blocks.right.map(unmarked);
  return E.right([{ toolResult: { toolUseId, content }, ...lastMark(blocks.right) }]);
}

/**
 * Some models reject a result without blocks, and some a blank text (rule 17.48):
 * https://github.com/strands-agents/harness-sdk/pull/2123
 */
const emptyResult: readonly JsonObject[] = [{ text: '(empty result)' }];

const asUserBlock = (block: JsonObject): JsonObject =>
  block['json'] === undefined ? block : { text: JSON.stringify(block['json']), ...markOf(block) };
