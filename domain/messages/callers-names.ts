import * as E from 'fp-ts/lib/Either.js';
import { withoutWhiteSpace } from '../chat/data-url.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import {
  isAbsent,
  isObject,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  objectsOf,
  textIn,
} from '../shared/json.ts';
import { below, type Place, placeIn } from '../shared/place.ts';
import { systemText } from './blocks.ts';
import { chatMessages, nothingKept } from './chat-messages.ts';
import { outputFormat } from './messages-request.ts';
import { effortPath, withPlainSystemTurns } from './system-turns.ts';

/**
 * Renames the fields in a refusal of the chat body that a messages body was translated to, so that it uses the names
 * that the caller wrote: a caller cannot correct a field that it did not send.
 */
export function inCallersNames(error: GatewayError, body: JsonObject): GatewayError {
  const { param } = error;
  if (param === undefined) return error;
  const name = callersName(param, body);
  const message = error.message.replaceAll(/`([^`]+)`/g, (quoted, field: string) => {
    if (field === param) return `\`${name}\``;
    return instead.get(field) ?? (mentioned.test(field) ? `\`${callersName(field, body)}\`` : quoted);
  });
  return { ...error, message, param: name };
}

/** Chat fields that refusals of other fields mention. */
const mentioned = /^(?:stop|max_completion_tokens|response_format|parallel_tool_calls)\b/;

/** Fields that a refusal recommends in place of the refused one. */
const instead: ReadonlyMap<string, string> = new Map([
  ['reasoning_effort', '`output_config.effort`'],
  ['reasoning.budget_tokens', '`thinking.budget_tokens`'],
  ['reasoning_budget_tokens', '`thinking.budget_tokens`'],
  ['thinking_budget_tokens', '`thinking.budget_tokens`'],
]);

type Rename = (body: JsonObject, ...rest: readonly string[]) => string;

/** From chat names to names of the messages API; the rest of a path follows the renamed part. */
const renames: readonly (readonly [path: RegExp, name: Rename])[] = [
  [/^stop(\[\d+\])?$/, (_, index = '') => `stop_sequences${index}`],
  [/^max_completion_tokens$/, () => 'max_tokens'],
  [/^parallel_tool_calls$/, () => 'tool_choice.disable_parallel_tool_use'],
  [/^response_format(?:\.json_schema)?(\..*)?$/, (body, rest = '') => `${formatPath(body)}${rest}`],
  [/^tool_choice\.function(\.name)?$/, (_, name = '') => `tool_choice${name}`],
  [/^(tools\[\d+\])\.function\.parameters(.*)$/, (_, tool = '', rest = '') => `${tool}.input_schema${rest}`],
  [/^(tools\[\d+\])\.function(.*)$/, (_, tool = '', rest = '') => `${tool}${rest}`],
  [/^(?:reasoning_effort|(?:reasoning|output_config)\.effort)$/, placeOfEffort],
  [/^(?:reasoning\.|reasoning_|thinking_)budget_tokens$/, () => 'thinking.budget_tokens'],
  [/^messages\[(\d+)\](.*)$/, (body, index, rest = '') => messagePath(body, Number(index), rest)],
];

function callersName(path: string, body: JsonObject): string {
  for (const [shape, name] of renames) {
    const found = shape.exec(path);
    if (found !== null) return name(body, ...found.slice(1));
  }
  return path;
}

const formatPath = (body: JsonObject): string => outputFormat(body)?.path ?? 'output_config.format';

/** The field that the effort came from, which may be a budget. */
function placeOfEffort(body: JsonObject): string {
  const { thinking } = body;
  const made = isObject(thinking) && !isAbsent(thinking['budget_tokens']);
  return effortPath(body) ?? (made ? 'thinking.budget_tokens' : 'output_config.effort');
}

/** The origin of a chat message in the caller's body. */
interface Origin {
  readonly path: string;
  readonly role: string;
  /** The paths of its calls. */
  readonly calls: readonly string[];
  /** Its parts, and the blocks that they came from. */
  readonly parts: readonly JsonObject[];
  readonly blocks: Json | undefined;
}

function messagePath(body: JsonObject, index: number, rest: string): string {
  const origin = originsOf(body)[index];
  if (origin === undefined) return 'messages';
  const { path, role, calls } = origin;
  if (role === 'tool') return `${path}.${rest === '.tool_call_id' ? 'tool_use_id' : 'content'}`;
  const [, place, field = ''] = /^\.tool_calls\[(\d+)\](?:\.function)?(\.\w+)?/.exec(rest) ?? [];
  if (place !== undefined) return `${calls[Number(place)] ?? path}${field.replace('arguments', 'input')}`;
  return role !== 'system' && rest.startsWith('.content') ? contentPath(origin, rest) : path;
}

/** The path of an image's or a file's source; for other parts, the path of the content. */
function contentPath({ path, parts, blocks }: Origin, rest: string): string {
  const at = `${path}.content`;
  const part = parts[Number(/^\.content\[(\d+)\]/.exec(rest)?.[1])];
  return (part && below(at, placeOfMedia(blocks, mediaOf(part)))) ?? at;
}

/** The image or file of a part: a URL, or its bytes as a data URL. */
function mediaOf({ image_url: image, file }: JsonObject): Json | undefined {
  return isObject(image) ? image['url'] : isObject(file) ? file['file_data'] : undefined;
}

/** The place of such an image or document among these blocks and those nested in them. */
const placeOfMedia = (blocks: Json | undefined, media: Json | undefined): Place =>
  placeIn(
    blocks,
    ({ source, content }) =>
      below('.source', placeOfSource(membersOf(source), media)) ??
      below('.content', placeOfMedia(content, media)),
  );

function placeOfSource({ url, media_type: type, data, content }: JsonObject, media: Json | undefined): Place {
  if (isString(url) && url === media) return '.url';
  if (isString(type) && isString(data) && `data:${type};base64,${withoutWhiteSpace(data)}` === media)
    return '';
  return below('.content', placeOfMedia(content, media));
}

/** The origin of each chat message, in order: a message with tool results became several. */
function originsOf(body: JsonObject): readonly Origin[] {
  const system = systemText(body['system'] ?? '', 'system');
  const first =
    E.isRight(system) && system.right !== ''
      ? [{ path: 'system', role: 'system', calls: [], parts: [], blocks: undefined }]
      : [];
  const inMessages = objectsOf(withPlainSystemTurns(body)['messages']).flatMap((message, index) => {
    const path = `messages[${index}]`;
    const chat = chatMessages(message, path, nothingKept);
    const results = blockPaths(message, path, 'tool_result');
    const calls = blockPaths(message, path, 'tool_use');
    return (E.isRight(chat) ? chat.right : []).map(({ role, content }, place): Origin => {
      const result = role === 'tool' ? results[place] : undefined;
      return {
        path: result ?? path,
        role: textIn(role),
        calls,
        parts: objectsOf(content),
        blocks: message['content'],
      };
    });
  });
  return [...first, ...inMessages];
}

const blockPaths = ({ content }: JsonObject, path: string, type: string): readonly string[] =>
  objectsOf(content).flatMap((block, index) => (block['type'] === type ? [`${path}.content[${index}]`] : []));
