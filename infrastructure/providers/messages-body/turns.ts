import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { inputOf } from '../../../domain/calls/call-input.ts';
import { systemBlocks, textOfSystem } from '../../../domain/messages/blocks.ts';
import { assistantMembers } from '../../../domain/chat/assistant-message.ts';
import { readCall } from '../../../domain/chat/read-call.ts';
import type { ConversationIds } from '../../../domain/calls/conversation-ids.ts';
import { withoutTrailingSpace } from '../../../domain/chat/prefill.ts';
import { isAbsent, isString, type JsonObject, objectsOf } from '../../../domain/shared/json.ts';
import {
  answersNoCall,
  emptyConversation,
  fieldError,
  stringOf,
} from '../../../domain/shared/field-errors.ts';
import {
  withMarkOnLastBlock,
  withMarkOnLastTurn,
  isMarked,
  lastMark,
  markOf,
  unmarked,
} from '../../../domain/messages/cache-marks.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { type Blocks, contentBlocks, textBlocks } from './content.ts';
import type { BodyRules } from './rules.ts';

/** The rules for translating a conversation. */
export interface TurnRules extends Pick<BodyRules, 'media'> {
  readonly ids: ConversationIds;
}

/** A chat conversation as members of a messages body. */
export interface Conversation {
  /** One text, or blocks if some of it has a cache mark. */
  readonly system: string | readonly JsonObject[];
  readonly messages: readonly JsonObject[];
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly blocks: readonly JsonObject[];
}

/** Combines all system and developer text, wherever it is. Consecutive messages of one role become one turn. */
export function conversationOf(body: JsonObject, rules: TurnRules): Either<GatewayError, Conversation> {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  for (const [index, message] of objectsOf(body['messages']).entries()) {
    const path = `messages[${index}]`;
    if (message['role'] === 'system' || message['role'] === 'developer') {
      const blocks = systemBlocks(message['content'], `${path}.content`);
      if (E.isLeft(blocks)) return blocks;
      for (const block of withMarkOnLastBlock(blocks.right, message)) system.push(block);
    } else {
      const turn = turnOf(message, path, rules);
      if (E.isLeft(turn)) return turn;
      const { role, blocks } = turn.right;
      turns.push({ role, blocks: withMarkOnLastBlock(blocks, message) });
      const images = assistantImages(message, path, rules);
      if (E.isLeft(images)) return images;
      turns.push({ role: 'user', blocks: images.right });
    }
  }
  const messages = withoutTrailingSpace(merged(turns));
  if (messages.length === 0) return E.left(emptyConversation);
  return E.right({ system: systemMember(system), messages: withMarkOnLastTurn(messages, body) });
}

/** Blank blocks are left out, because upstreams reject them. */
const systemMember = (blocks: readonly JsonObject[]): string | readonly JsonObject[] =>
  blocks.some(isMarked)
    ? blocks.filter(({ text }) => isString(text) && text.trim() !== '')
    : textOfSystem(blocks);

/** Tool results come before the user's other content: upstreams require them directly after the calls. */
function merged(turns: readonly Turn[]): readonly JsonObject[] {
  const joined: { readonly role: Turn['role']; readonly blocks: JsonObject[] }[] = [];
  for (const { role, blocks } of turns) {
    const last = joined.at(-1);
    if (blocks.length === 0) continue;
    if (last?.role !== role) joined.push({ role, blocks: [...blocks] });
    else for (const block of blocks) last.blocks.push(block);
  }
  return joined.map(({ role, blocks }) => ({
    role,
    content: [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))],
  }));
}

const isResult = ({ type }: JsonObject): boolean => type === 'tool_result';

function turnOf(message: JsonObject, path: string, rules: TurnRules): Either<GatewayError, Turn> {
  const { role } = message;
  switch (isString(role) ? role : '') {
    case 'user':
      return pipe(
        contentBlocks(message['content'], `${path}.content`, rules.media),
        E.map((blocks): Turn => ({ role: 'user', blocks })),
      );
    case 'tool':
      return pipe(
        toolResult(message, path, rules),
        E.map((block): Turn => ({ role: 'user', blocks: [block] })),
      );
    case 'assistant':
      return pipe(
        assistantBlocks(message, path, rules),
        E.map((blocks): Turn => ({ role: 'assistant', blocks })),
      );
    default:
      return E.left(
        fieldError(
          `${path}.role`,
          "must be `system`, `developer`, `user`, `assistant` or `tool` on this model's route.",
        ),
      );
  }
}

/** A tool result. String content stays a string. A cache mark inside the content becomes one of the whole result. */
function toolResult(message: JsonObject, path: string, rules: TurnRules): Either<GatewayError, JsonObject> {
  const { content } = message;
  const id = stringOf(message, 'tool_call_id', path);
  if (E.isLeft(id)) return id;
  if (!rules.ids.knows(id.right)) return E.left(answersNoCall(path));
  const blocks = contentBlocks(content, `${path}.content`, rules.media);
  if (E.isLeft(blocks)) return blocks;
  const result = isString(content) && content !== '' ? content : blocks.right.map(unmarked);
  return E.right({
    type: 'tool_result',
    tool_use_id: rules.ids.ofResult(id.right),
    ...(result.length === 0 ? {} : { content: result }),
    ...lastMark([...blocks.right, message]),
  });
}

/** The content first, then the calls. Preserved reasoning is dropped. */
function assistantBlocks(message: JsonObject, path: string, rules: TurnRules): Blocks {
  const members = assistantMembers(message, path);
  if (E.isLeft(members)) return members;
  const content = contentBlocks(message['content'], `${path}.content`, rules.media);
  if (E.isLeft(content)) return content;
  const { refusal, calls } = members.right;
  const uses: JsonObject[] = [];
  if (calls.length > 0) rules.ids.beginAnswer();
  for (const [index, call] of calls.entries()) {
    const use = toolUse(call, `${path}.tool_calls[${index}]`, rules);
    if (E.isLeft(use)) return use;
    uses.push(use.right);
  }
  return E.right([...content.right, ...textBlocks(refusal), ...uses]);
}

/** Only the user can send images, so those that another model made are sent as the user's (rule 17.61). */
const assistantImages = ({ role, images }: JsonObject, path: string, { media }: TurnRules): Blocks =>
  role === 'assistant' && !isAbsent(images) ? contentBlocks(images, `${path}.images`, media) : E.right([]);

function toolUse(call: JsonObject, path: string, rules: TurnRules): Either<GatewayError, JsonObject> {
  const called = readCall(call, path);
  if (E.isLeft(called)) return called;
  const { id, name, text } = called.right;
  return E.right({
    type: 'tool_use',
    id: rules.ids.ofCall(id),
    name,
    input: inputOf(text),
    ...markOf(call),
  });
}
