import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';
import { type Fault, firstFault, objectsIn, reservedFault, strangerIn, wordsOf } from './platform-faults.ts';

const memberFault = (object: JsonObject, known: readonly string[], at: string): Fault => {
  const unknown = strangerIn(object, known);
  return unknown === undefined ? undefined : `${at}${unknown}: extraneous key [${unknown}] is not permitted`;
};

/** The reason why the platform refuses a converse body; undefined if it accepts it. */
export const converseFault = (body: JsonObject): Fault =>
  memberFault(body, requestMembers, '#/') ??
  reservedFault(body['system']) ??
  inferenceFault(body['inferenceConfig']) ??
  toolsFault(body['toolConfig']) ??
  turnsFault(objectsIn(body['messages'])) ??
  pairsFault(objectsIn(body['messages']), isJsonObject(body['toolConfig']));

const requestMembers = [
  'system',
  'messages',
  'inferenceConfig',
  'toolConfig',
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'requestMetadata',
  'performanceConfig',
  'guardrailConfig',
];

function inferenceFault(config: unknown): Fault {
  if (config === undefined) return undefined;
  if (!isJsonObject(config)) return 'inferenceConfig: expected an object';
  const limit = config['maxTokens'];
  if (limit !== undefined && !(Number.isInteger(limit) && Number(limit) >= 1))
    return 'inferenceConfig.maxTokens: Member must be greater than or equal to 1';
  return memberFault(config, ['maxTokens', 'temperature', 'topP', 'stopSequences'], 'inferenceConfig.');
}

function toolsFault(config: unknown): Fault {
  if (config === undefined) return undefined;
  const tools = objectsIn(isJsonObject(config) ? config['tools'] : undefined);
  if (tools.length === 0) return 'toolConfig.tools: Member must have length greater than or equal to 1';
  return firstFault(tools, ({ toolSpec, cachePoint }, index) => {
    const at = `toolConfig.tools.${index}.member.toolSpec`;
    if (isJsonObject(cachePoint) && toolSpec === undefined) return undefined;
    if (!isJsonObject(toolSpec)) return `${at}: Member must not be null`;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(wordsOf(toolSpec['name'])))
      return `${at}.name: failed to satisfy constraint`;
    const { inputSchema, description } = toolSpec;
    const schema = isJsonObject(inputSchema) ? inputSchema['json'] : undefined;
    if (!isJsonObject(schema) || schema['type'] !== 'object')
      return `The value at ${at}.inputSchema.json.type must be one of the following: object.`;
    if (description === '') return `${at}.description: Member must have length greater than or equal to 1`;
    return memberFault(toolSpec, ['name', 'description', 'inputSchema', 'strict'], `${at}.`);
  });
}

function turnsFault(messages: readonly JsonObject[]): Fault {
  if (messages[0]?.['role'] !== 'user')
    return 'A conversation must start with a user message. Try again with a conversation that starts with a user message.';
  if (messages.at(-1)?.['role'] !== 'user') return 'The conversation must end with a user message.';
  return firstFault(messages, (message, index) => {
    const { role, content } = message;
    if (role !== 'user' && role !== 'assistant')
      return `Value '${wordsOf(role)}' at 'messages.${index}.member.role' failed to satisfy constraint: Member must satisfy enum value set: [assistant, user]`;
    if (role === messages[index - 1]?.['role'])
      return 'A conversation must alternate between user and assistant roles.';
    const blocks = objectsIn(content);
    if (blocks.length === 0) return `The content field in the Message object at messages.${index} is empty.`;
    return (
      memberFault(message, ['role', 'content'], `messages.${index}.`) ??
      firstFault(blocks, (block, at) => blockFault(block, role, `messages.${index}.content.${at}`))
    );
  });
}

const ownBlocks = {
  user: ['text', 'image', 'document', 'toolResult', 'cachePoint'],
  assistant: ['text', 'toolUse', 'reasoningContent', 'cachePoint'],
};

function blockFault(block: JsonObject, role: 'user' | 'assistant', at: string): Fault {
  const kinds = Object.keys(block);
  const [kind = ''] = kinds;
  if (kinds.length !== 1)
    return `ContentBlock object at ${at} must set one of the following keys: text, image, …`;
  if (!ownBlocks[role].includes(kind)) return `${at}: ${kind} is not permitted for the role ${role}.`;
  const value = block[kind];
  if (kind === 'text')
    return typeof value === 'string' && value.trim() !== ''
      ? undefined
      : `The text field in the ContentBlock object at ${at} is blank. Add text to the text field, and try again.`;
  if (!isJsonObject(value)) return `${at}.${kind}: expected an object`;
  return kind === 'toolUse' || kind === 'toolResult' ? toolFault(kind, value, `${at}.${kind}`) : undefined;
}

const toolMembers = {
  toolUse: ['toolUseId', 'name', 'input'],
  toolResult: ['toolUseId', 'content', 'status'],
};

function toolFault(kind: 'toolUse' | 'toolResult', value: JsonObject, at: string): Fault {
  if (!/^[a-zA-Z0-9_.:-]{1,64}$/.test(wordsOf(value['toolUseId'])))
    return `${at}.toolUseId: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+`;
  const missing = toolMembers[kind].slice(0, 2).find((name) => value[name] === undefined);
  return missing === undefined
    ? memberFault(value, toolMembers[kind], `${at}.`)
    : `${at}.${missing} must not be null`;
}

const idsIn = (message: JsonObject | undefined, kind: string): readonly string[] =>
  objectsIn(message?.['content']).flatMap((block) => {
    const value = block[kind];
    return isJsonObject(value) ? [wordsOf(value['toolUseId'])] : [];
  });

function pairsFault(messages: readonly JsonObject[], tools: boolean): Fault {
  const uses = messages.map((message) => idsIn(message, 'toolUse'));
  const results = messages.map((message) => idsIn(message, 'toolResult'));
  if (!tools && [...uses, ...results].flat().length > 0)
    return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.';
  return firstFault(messages, (_, index) => {
    const asked = uses[index] ?? [];
    if (new Set(asked).size < asked.length)
      return `The toolUse blocks at messages.${index}.content contain duplicate Ids`;
    const missing = asked.filter((id) => results[index + 1]?.includes(id) !== true);
    if (missing.length > 0)
      return `Expected toolResult blocks at messages.${index + 1}.content for the following Ids: ${missing.join()}`;
    const before = uses[index - 1] ?? [];
    return (results[index] ?? []).every((id) => before.includes(id)) &&
      (results[index] ?? []).length <= before.length
      ? undefined
      : `The number of toolResult blocks at messages.${index}.content exceeds the number of toolUse blocks of previous turn.`;
  });
}
