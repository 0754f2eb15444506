import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { carriedSignature, carriedThoughts, signed } from '../calls/thought-signature.ts';
import { fieldError, unsupportedType, nameOf, stringOf } from '../shared/field-errors.ts';
import { aBoolean, shapeError } from '../shared/field-shapes.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import {
  isAbsent,
  isFilled,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
  isObject,
} from '../shared/json.ts';
import { oneContent, paragraphs, textPart } from '../shared/message-content.ts';
import { partsOfBlocks, systemBlocks, textOfSystem } from './blocks.ts';
import { withMarkOnLastBlock, isMarked, type Marks, noMarks, unmarked } from './cache-marks.ts';
import { contentParts, type ContentParts } from './content-parts.ts';
import { hostedText } from './hosted-blocks.ts';
import { chatToolName } from './tool-names.ts';

type ChatMessages = Either<GatewayError, readonly JsonObject[]>;

/** What a translation keeps for an upstream that knows it. */
export interface Kept {
  readonly marks: Marks;
  /** Whether thinking goes back as the `reasoning` of its message. */
  readonly thinking: boolean;
  /** Whether encrypted thoughts go back in the message of the calls that carry them. */
  readonly thoughts: boolean;
  /** Whether an empty list of tools is kept, for the route's rule about it. */
  readonly emptyTools: boolean;
}

export const nothingKept: Kept = { marks: noMarks, thinking: false, thoughts: false, emptyTools: false };

/** Translates one message of the messages family to chat completions: to several messages, one, or none. */
export function chatMessages(message: JsonObject, path: string, kept: Kept): ChatMessages {
  const { role, content } = message;
  const { marks } = kept;
  const at = `${path}.content`;
  if (role === 'system') return pipe(systemBlocks(content, at), E.map(systemMessages(marks)));
  return role === 'assistant' ? assistantMessages(content, at, kept) : userMessages(content, at, marks);
}

/**
 * Consecutive turns of one role are one turn of the messages API. Chat upstreams refuse a call that is not directly
 * followed by its result, so everything that the assistant then says and calls is merged into the message with the
 * first calls, and all results come before whatever else the user says until the assistant's next turn (rule 33.36).
 */
export function withCallsTogether(messages: readonly JsonObject[]): readonly JsonObject[] {
  const turns: JsonObject[][] = [];
  for (const message of messages) {
    const turn = turns.at(-1) ?? [];
    if (turn.some(hasCalls) && message['role'] === 'assistant') turn.push(message);
    else turns.push([message]);
  }
  return withResultsFirst(turns.map(oneMessage));
}

function withResultsFirst(messages: readonly JsonObject[]): readonly JsonObject[] {
  const ordered: JsonObject[] = [];
  let behind: JsonObject[] | undefined;
  for (const message of messages) {
    if (message['role'] === 'assistant') {
      for (const other of behind ?? []) ordered.push(other);
      behind = hasCalls(message) ? [] : undefined;
    }
    const isAnswer = behind === undefined || message['role'] === 'assistant' || message['role'] === 'tool';
    (isAnswer ? ordered : (behind ?? ordered)).push(message);
  }
  return [...ordered, ...(behind ?? [])];
}

const hasCalls = ({ role, tool_calls }: JsonObject): boolean => role === 'assistant' && !isAbsent(tool_calls);

function oneMessage(turn: readonly JsonObject[]): JsonObject {
  const [first = {}] = turn;
  if (turn.length === 1) return first;
  return {
    ...first,
    ...withReasoning(turn.map(({ reasoning }) => reasoning).filter(isString)),
    ...withThoughts(turn.flatMap((message) => objectsOf(message['reasoning_details']))),
    content: oneContent(turn.map(({ content }) => content ?? null)),
    tool_calls: turn.flatMap(({ tool_calls }) => objectsOf(tool_calls)),
  };
}

/**
 * The system text as one plain string, because many chat upstreams use templates that accept no other form. Parts are
 * needed only for cache marks that are kept.
 */
export const systemMessages =
  (marks: Marks) =>
  (blocks: readonly JsonObject[]): readonly JsonObject[] => {
    const parts = blocks.map((block) => ({ ...unmarked(block), ...marks(block) }));
    if (parts.some(isMarked)) return [{ role: 'system', content: parts }];
    const text = textOfSystem(parts);
    return text === '' ? [] : [{ role: 'system', content: text }];
  };

/**
 * Tool results come first, as one `tool` message each, because chat upstreams require them directly after the calls.
 * Whatever else the user says follows in one message.
 */
function userMessages(content: Json | undefined, path: string, marks: Marks): ChatMessages {
  if (isString(content)) return E.right([{ role: 'user', content }]);
  const results: JsonObject[] = [];
  const attached: (readonly JsonObject[])[] = [];
  const ownParts: (readonly JsonObject[])[] = [];
  for (const [index, block] of objectsOf(content).entries()) {
    const at = `${path}[${index}]`;
    if (block['type'] === 'tool_result') {
      const result = toolResult(block, at, marks);
      if (E.isLeft(result)) return result;
      results.push(result.right.message);
      attached.push(result.right.attached);
    } else {
      const parts = contentParts(block, at);
      if (E.isLeft(parts)) return parts;
      ownParts.push(withMarkOnLastBlock(parts.right, marks(block)));
    }
  }
  const parts = [...attached, ...ownParts].flat();
  if (parts.length === 0 && results.length > 0) return E.right(results);
  return E.right([...results, { role: 'user', content: plainest(parts) }]);
}

/**
 * A single text becomes a string, the form that every upstream accepts. Several parts stay parts, so that none is lost.
 */
function plainest(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const [first] = parts;
  if (first === undefined) return '';
  return parts.length === 1 && isString(first['text']) && !isMarked(first) ? first['text'] : parts;
}

interface ToolResult {
  readonly message: JsonObject;
  /** Parts that a `tool` message cannot carry, preceded by a text that says which call they belong to. */
  readonly attached: readonly JsonObject[];
}

/**
 * A `tool` message carries only text, so images and files of a result go into the user message that follows. Chat has
 * no flag for a failed call, so the text says that it failed.
 */
function toolResult(block: JsonObject, path: string, marks: Marks): Either<GatewayError, ToolResult> {
  const id = nameOf(block, 'tool_use_id', path);
  if (E.isLeft(id)) return id;
  const fault = shapeError(block, [['is_error', aBoolean]], `${path}.`);
  if (fault !== undefined) return E.left(fault);
  const parts = resultParts(block, `${path}.content`);
  if (E.isLeft(parts)) return parts;
  const text = paragraphs(parts.right.flatMap(({ text }) => (isString(text) ? [text] : [])));
  const others = parts.right.filter(({ text }) => !isString(text));
  const shown = text === '' && others.length > 0 ? 'The result is in the user message that follows.' : text;
  const marked = block['is_error'] === true ? asError(shown) : shown;
  const content = marksOfResult(block, marks).reduce(markedText, marked);
  return E.right({
    message: { role: 'tool', tool_call_id: id.right, content },
    attached:
      others.length === 0 ? [] : [textPart(`From the result of the tool call ${id.right}:`), ...others],
  });
}

/** The last cache mark on a result or in it, if there is one. */
const marksOfResult = (block: JsonObject, marks: Marks): readonly JsonObject[] =>
  [...objectsOf(block['content']), block].map(marks).filter(isMarked).slice(-1);

/** Only a part carries a mark, and an empty text can carry none. */
const markedText = (
  text: string | readonly JsonObject[],
  mark: JsonObject,
): string | readonly JsonObject[] =>
  isString(text) && text !== '' ? [{ ...textPart(text), ...mark }] : text;

const asError = (text: string): string => (/^error\b/i.test(text) ? text : `Error: ${text}`);

function resultParts({ content }: JsonObject, path: string): ContentParts {
  if (isAbsent(content)) return E.right([]);
  return isString(content) ? E.right([textPart(content)]) : partsOfBlocks(content, path, resultPart);
}

/** A tool search returns references. Every tool is in the request already, so naming it is enough. */
const resultPart = (block: JsonObject, path: string): ContentParts =>
  block['type'] === 'tool_reference'
    ? pipe(
        nameOf(block, 'tool_name', path),
        E.map((name) => [textPart(`The tool ${chatToolName(name)} is available.`)]),
      )
    : contentParts(block, path);

/**
 * Texts are joined, as pieces of one answer, and blocks of hosted tools are paragraphs among them. Thinking is dropped
 * unless it is kept, because only the upstream that made it can take it back. A message with nothing else left is
 * omitted.
 */
function assistantMessages(content: Json | undefined, path: string, kept: Kept): ChatMessages {
  const { marks, thinking: keepsThinking } = kept;
  if (isString(content)) return E.right(assistantMessage(content, [], {}));
  const words: string[] = [''];
  const thoughts: string[] = [];
  const calls: JsonObject[] = [];
  let mark: JsonObject = {};
  for (const [index, block] of objectsOf(content).entries()) {
    const at = `${path}[${index}]`;
    if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') {
      if (keepsThinking) thoughts.push(...translatedThinking(block));
      continue;
    }
    if (block['type'] === 'text') {
      const text = stringOf(block, 'text', at);
      if (E.isLeft(text)) return text;
      words.push((words.pop() ?? '') + text.right);
      mark = { ...mark, ...marks(block) };
    } else if (block['type'] === 'tool_use') {
      const call = toolCall(block, at);
      if (E.isLeft(call)) return call;
      calls.push({ ...call.right, ...marks(block) });
    } else {
      const hosted = hostedText(block);
      if (hosted === undefined) return unsupportedType(block, at);
      words.push(hosted, '');
      mark = { ...mark, ...marks(block) };
    }
  }
  const messages = assistantMessage(paragraphs(words), calls, mark);
  const reasoned = { ...withReasoning(thoughts), ...withThoughts(keptThoughts(content, kept)) };
  return E.right(messages.map((message) => ({ ...message, ...reasoned })));
}

const keptThoughts = (content: Json | undefined, { thoughts }: Kept): readonly JsonObject[] =>
  thoughts ? objectsOf(content).flatMap(carriedThoughts) : [];

/** Without a signature, thinking is the gateway's own translation of a chat answer's reasoning. */
const translatedThinking = ({ thinking, signature }: JsonObject): readonly string[] =>
  isString(thinking) && !isFilled(signature) ? [thinking] : [];

const withReasoning = (thoughts: readonly string[]): JsonObject => {
  const reasoning = paragraphs(thoughts);
  return reasoning === '' ? {} : { reasoning };
};

/** Encrypted thoughts go back where they came from, in the message of their calls (rule 33.48). */
const withThoughts = (thoughts: readonly JsonObject[]): JsonObject =>
  thoughts.length === 0 ? {} : { reasoning_details: thoughts };

function assistantMessage(
  text: string,
  calls: readonly JsonObject[],
  mark: JsonObject,
): readonly JsonObject[] {
  const content = isMarked(mark) ? markedText(text, mark) : text;
  if (calls.length > 0)
    return [{ role: 'assistant', content: text === '' ? null : content, tool_calls: calls }];
  return text === '' ? [] : [{ role: 'assistant', content }];
}

/** The id, every digit of the input, and the signature of the call are preserved. */
function toolCall(block: JsonObject, path: string): Either<GatewayError, JsonObject> {
  const id = nameOf(block, 'id', path);
  if (E.isLeft(id)) return id;
  const name = nameOf(block, 'name', path);
  if (E.isLeft(name)) return name;
  const { input } = block;
  if (!isObject(input)) return E.left(fieldError(`${path}.input`, 'must be an object.'));
  return E.right({
    id: id.right,
    type: 'function',
    function: { name: chatToolName(name.right), arguments: JSON.stringify(input) },
    ...signed(carriedSignature(block)),
  });
}
