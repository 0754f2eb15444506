import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { blocksOf, systemText } from '../../../domain/messages/blocks.ts';
import { exactObject, inputOf } from '../../../domain/calls/call-input.ts';
import { assistantMembers } from '../../../domain/chat/assistant-message.ts';
import { readCall } from '../../../domain/chat/read-call.ts';
import { isThinkingPart } from '../../../domain/reasoning/reasoning-fields.ts';
import { isAbsent, isString, type Json, type JsonObject, objectsOf } from '../../../domain/shared/json.ts';
import {
  answersNoCall,
  emptyConversation,
  unsupportedType,
  stringOf,
  unavailableWord,
} from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { asReminder } from '../../../domain/messages/system-turns.ts';
import { type Parts, partsOf, textParts } from './generate-content-parts.ts';
import type { ReadableBuckets } from './readable-buckets.ts';
import { signatureIn, signatureOfCall } from './generate-content-signatures.ts';
import { Turns } from './generate-content-turns.ts';

/** A conversation in the format of generate-content. */
export interface Conversation {
  readonly system: readonly JsonObject[];
  readonly contents: readonly JsonObject[];
}

/** The part of a conversation that was read so far, and the buckets that it may refer to. */
interface Reading {
  readonly turns: Turns;
  readonly system: JsonObject[];
  readonly buckets: ReadableBuckets;
  /** Whether system messages between the turns stay in their place, as reminders of the user (rule 17.52). */
  readonly reminders: boolean;
}

type Step = Either<GatewayError, void>;
const done: Step = E.right(undefined);

/**
 * Chat messages as turns. System and developer text is separate from them. Reasoning that callers send back is dropped
 * (replay is not performed), except for the signatures of calls and images. `signature` is the placeholder for a call
 * without one, if the model requires signatures.
 */
export function conversationOf(
  messages: Json | undefined,
  signature: string | undefined,
  buckets: ReadableBuckets,
  reminders: boolean,
): Either<GatewayError, Conversation> {
  const turns = new Turns(signature);
  const system: JsonObject[] = [];
  const reading: Reading = { turns, system, buckets, reminders };
  for (const [index, message] of objectsOf(messages).entries()) {
    const step = addMessage(message, `messages[${index}]`, reading);
    if (E.isLeft(step)) return step;
  }
  const contents = turns.contents();
  if (contents.length === 0) return E.left(emptyConversation);
  return E.right({ system, contents });
}

function addMessage(message: JsonObject, path: string, reading: Reading): Step {
  const { turns, buckets } = reading;
  const { content } = message;
  const role = isString(message['role']) ? message['role'] : '';
  const at = `${path}.content`;
  switch (role) {
    case 'system':
    case 'developer':
      return pipe(
        systemText(content, at),
        E.map((text) => addSystem(textParts(text), reading)),
      );
    case 'user':
      return pipe(
        partsOf(content, at, buckets),
        E.map((parts) => turns.say('user', parts)),
      );
    case 'assistant':
      return addAssistant(message, path, reading);
    case 'tool':
      return addResult(message, path, reading);
    default:
      return E.left(unavailableWord(role, `${path}.role`));
  }
}

function addSystem(parts: readonly JsonObject[], { turns, system, reminders }: Reading): void {
  if (reminders && turns.hasBegun) turns.say('user', parts.map(asReminder));
  else system.push(...parts);
}

function addAssistant(message: JsonObject, path: string, { turns, buckets }: Reading): Step {
  const members = assistantMembers(message, path);
  if (E.isLeft(members)) return members;
  const { content } = message;
  const parts = isAbsent(content) ? E.right([]) : assistantParts(content, `${path}.content`);
  if (E.isLeft(parts)) return parts;
  turns.say('model', parts.right);
  turns.say('model', textParts(members.right.refusal));
  const images = imageParts(members.right.images, `${path}.images`, buckets);
  if (E.isLeft(images)) return images;
  turns.say('model', images.right);
  turns.beginCalls();
  for (const [index, call] of members.right.calls.entries()) {
    const at = `${path}.tool_calls[${index}]`;
    const step = addCall(call, at, signatureOfCall(call, index, message), turns);
    if (E.isLeft(step)) return step;
  }
  return done;
}

function assistantParts(content: Json, path: string): Parts {
  if (isString(content)) return E.right(textParts(content));
  const blocks = blocksOf(content, path);
  if (E.isLeft(blocks)) return blocks;
  const parts: JsonObject[] = [];
  for (const [index, block] of blocks.right.entries()) {
    const { type } = block;
    const at = `${path}[${index}]`;
    if (isThinkingPart(block)) continue;
    if (type !== 'text' && type !== 'refusal') return unsupportedType(block, at);
    const text = stringOf(block, type, at);
    if (E.isLeft(text)) return text;
    parts.push(...textParts(text.right));
  }
  return E.right(parts);
}

/** Images that the model generated, in the format of the answer that contained them. */
function imageParts(made: readonly JsonObject[], path: string, buckets: ReadableBuckets): Parts {
  const other = made.findIndex(({ type }) => type !== 'image_url');
  if (other >= 0) return unsupportedType(made[other] ?? {}, `${path}[${other}]`);
  return pipe(
    partsOf(made, path, buckets),
    E.map((parts) =>
      parts.map((part, index) => {
        const signature = signatureIn(made[index] ?? {});
        return signature === undefined ? part : { ...part, thoughtSignature: signature };
      }),
    ),
  );
}

function addCall(call: JsonObject, path: string, signature: string | undefined, turns: Turns): Step {
  const called = readCall(call, path);
  if (E.isLeft(called)) return called;
  const { id, name, text } = called.right;
  turns.call(id, name, inputOf(text), signature);
  return done;
}

/** The upstream has no ids of calls: a result carries the name of its call, and its position is that of the call. */
function addResult(message: JsonObject, path: string, { turns, buckets }: Reading): Step {
  const id = stringOf(message, 'tool_call_id', path);
  if (E.isLeft(id)) return id;
  const call = turns.answered(id.right);
  if (call === undefined) return E.left(answersNoCall(path));
  const { content } = message;
  const parts = isAbsent(content) ? E.right([]) : partsOf(content, `${path}.content`, buckets);
  if (E.isLeft(parts)) return parts;
  const text = parts.right.flatMap((part) => (isString(part['text']) ? [part['text']] : [])).join('');
  turns.result(call, responseOf(text));
  turns.say(
    'user',
    parts.right.filter((part) => !isString(part['text'])),
  );
  return done;
}

/**
 * The result of a function is an object. Other text goes under `output`, the upstream's key for it, and so does an
 * object with `$ref`: the upstream takes that key for a reference to media of the result, and rejects all others (rule
 * 17.44): https://github.com/vercel/ai/issues/14369
 */
const responseOf = (text: string): JsonObject =>
  (text.trimStart().startsWith('{') && !text.includes('"$ref"') ? exactObject(text) : undefined) ?? {
    output: text,
  };
