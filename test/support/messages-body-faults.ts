import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';
import { type Fault, firstFault, objectsIn, reservedFault, strangerIn, wordsOf } from './platform-faults.ts';

/** The differences between the hosts of the messages body, as clients see them. */
export interface MessagesHost {
  /**
   * `anthropic_version` of the body; undefined: such a member is refused, and the body must name its model.
   */
  readonly version: string | undefined;
  /** Whether the body requests a stream; undefined: there is no such member. */
  readonly stream: boolean | undefined;
  /** Requested betas. */
  readonly betas: readonly string[];
}

/** The signature of the simulation's thinking. */
export const simulatedSignature = 'c2ltdWxhdGVkIHNpZ25hdHVyZQ==';

/** The data that the model sends if it shows none of its thinking. */
export const simulatedRedaction = 'cmVkYWN0ZWQ=';

type Rule = (body: JsonObject, host: MessagesHost) => Fault;

const extra = (field: string): string => `${field}: Extra inputs are not permitted`;

/** The reason why the platform refuses a messages body; undefined if it accepts it. */
export const messagesBodyFault = (body: JsonObject, host: MessagesHost): Fault =>
  firstFault(rules, (rule) => rule(body, host));

const everywhere: readonly string[] = [
  'messages',
  'max_tokens',
  'system',
  'metadata',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'thinking',
  'tools',
  'tool_choice',
  'output_config',
  'context_management',
  'container',
];

const knownBetas: ReadonlySet<string> = new Set([
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'interleaved-thinking-2025-05-14',
]);

const members: Rule = (body, { version, stream }) => {
  const own = version === undefined ? ['model'] : ['anthropic_version', 'anthropic_beta'];
  const unknown = strangerIn(body, [...everywhere, ...own, ...(stream === undefined ? [] : ['stream'])]);
  return unknown === undefined ? undefined : extra(unknown);
};

const version: Rule = (body, host) => {
  if (host.version === undefined)
    return typeof body['model'] === 'string' ? undefined : 'model: Field required';
  return body['anthropic_version'] === host.version ? undefined : 'anthropic_version: Field required';
};

const streaming: Rule = ({ stream }, host) =>
  (stream ?? false) === (host.stream ?? false) ? undefined : 'stream: Input does not match the call';

const betas: Rule = (body, host) => {
  if (!host.betas.every((beta) => knownBetas.has(beta))) return 'invalid beta flag';
  const { context_management: management, thinking } = body;
  if (management === undefined) return undefined;
  if (!host.betas.includes('context-management-2025-06-27')) return extra('context_management');
  const thinks = isJsonObject(thinking) && thinking['type'] !== 'disabled';
  // https://github.com/can1357/oh-my-pi/pull/2143
  return thinks || !wordsOf(management).includes('clear_thinking_20251015')
    ? undefined
    : '`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive';
};

const limits: Rule = ({ max_tokens: limit, thinking, temperature }) => {
  if (!Number.isInteger(limit) || Number(limit) < 1) return 'max_tokens: Field required';
  if (!isJsonObject(thinking) || thinking['type'] === 'disabled') return undefined;
  if (temperature !== undefined && temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled.';
  if (thinking['type'] === 'adaptive')
    return 'budget_tokens' in thinking ? extra('thinking.adaptive.budget_tokens') : undefined;
  const budget = Number(thinking['budget_tokens']);
  if (!Number.isInteger(budget) || budget < 1024)
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024';
  return budget < Number(limit) ? undefined : '`max_tokens` must be greater than `thinking.budget_tokens`.';
};

const toolName = /^[a-zA-Z0-9_-]{1,128}$/;
const toolId = /^[a-zA-Z0-9_-]{1,64}$/;

const tools: Rule = ({ tools, tool_choice: choice, thinking }) => {
  const offered = objectsIn(tools);
  const forced = isJsonObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool');
  if (choice !== undefined && offered.length === 0) return 'tool_choice: may only be specified with `tools`.';
  if (forced && isJsonObject(thinking) && thinking['type'] !== 'disabled')
    return 'Thinking may not be enabled when tool_choice forces tool use.';
  return firstFault(offered, ({ type, name, input_schema: schema }, index) => {
    if (type !== undefined && type !== 'custom') return `tools.${index}: unknown type`;
    if (!toolName.test(wordsOf(name))) return `tools.${index}.custom.name: String should match pattern`;
    return isJsonObject(schema) && schema['type'] === 'object' && isJsonObject(schema['properties'])
      ? undefined
      : `tools.${index}.custom.input_schema: Field required`;
  });
};

const system: Rule = (body) =>
  typeof body['system'] === 'string'
    ? undefined
    : (reservedFault(body['system']) ??
      firstFault(objectsIn(body['system']), (block, index) => blockFault(block, `system.${index}`)));

const conversation: Rule = ({ messages }) => {
  const said = objectsIn(messages);
  if (said.length === 0) return 'messages: at least one message is required';
  if (said.at(-1)?.['role'] !== 'user')
    return 'This model does not support assistant message prefill. The conversation must end with a user message.';
  return firstFault(said, ({ role, content }, index) => {
    if (role !== 'user' && role !== 'assistant')
      return `messages: Unexpected role "${wordsOf(role)}". The Messages API accepts a top-level \`system\` parameter.`;
    if (typeof content === 'string')
      return content === '' ? `messages.${index}: all messages must have non-empty content` : undefined;
    const blocks = objectsIn(content);
    if (blocks.length === 0) return `messages.${index}: all messages must have non-empty content`;
    return (
      firstFault(blocks, (block, at) => blockFault(block, `messages.${index}.content.${at}`)) ??
      firstFault(blocks, ({ type }, at) =>
        ownBlocks[role].includes(wordsOf(type))
          ? undefined
          : `messages.${index}.content.${at}: \`${wordsOf(type)}\` blocks are not permitted here`,
      )
    );
  });
};

const ownBlocks = {
  user: ['text', 'image', 'document', 'tool_result'],
  assistant: ['text', 'tool_use', 'thinking', 'redacted_thinking'],
};

/** Required and optional members of each block. */
const shapes: Readonly<Record<string, readonly string[]>> = {
  text: ['text', 'citations'],
  image: ['source'],
  document: ['source', 'title', 'context', 'citations'],
  tool_use: ['id', 'name', 'input', 'caller'],
  tool_result: ['tool_use_id', 'content', 'is_error'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
};

function blockFault(block: JsonObject, path: string): Fault {
  const type = wordsOf(block['type']);
  const known = shapes[type];
  if (known === undefined) return `${path}: Input tag '${type}' found using 'type' does not match any tag`;
  const unknown = strangerIn(block, ['type', 'cache_control', ...known]);
  if (unknown !== undefined) return extra(`${path}.${type}.${unknown}`);
  return contentFault(type, block, path);
}

/** The member with the id of a call. */
const idFields: Readonly<Record<string, string>> = { tool_use: 'id', tool_result: 'tool_use_id' };

function contentFault(type: string, block: JsonObject, path: string): Fault {
  if (type === 'text' && wordsOf(block['text']).trim() === '')
    return `${path}: text content blocks must contain non-whitespace text`;
  if (type === 'thinking' && block['signature'] !== simulatedSignature)
    return `${path}: Invalid \`signature\` in \`thinking\` block`;
  if (type === 'redacted_thinking' && block['data'] !== simulatedRedaction)
    return `${path}: Invalid \`data\` in \`redacted_thinking\` block`;
  if (type === 'tool_use' && !isJsonObject(block['input']))
    return `${path}.tool_use.input: Input should be an object`;
  const field = idFields[type];
  return field === undefined || toolId.test(wordsOf(block[field]))
    ? undefined
    : `${path}.${type}: String should match pattern '^[a-zA-Z0-9_-]+$'`;
}

const idsIn = (message: JsonObject | undefined, type: string, field: string): readonly string[] =>
  objectsIn(message?.['content'])
    .filter((block) => block['type'] === type)
    .map((block) => wordsOf(block[field]));

/** Each call must have its result in the next message, before everything else, and each result its call. */
const pairs: Rule = ({ messages }) => {
  const said = objectsIn(messages);
  const uses = said.map((message) => idsIn(message, 'tool_use', 'id'));
  const results = said.map((message) => idsIn(message, 'tool_result', 'tool_use_id'));
  if (new Set(uses.flat()).size < uses.flat().length) return 'messages: `tool_use` ids must be unique';
  return firstFault(said, (message, index) => {
    const missing = uses[index]?.find((id) => results[index + 1]?.includes(id) !== true);
    if (missing !== undefined)
      return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing}`;
    const foreign = results[index]?.find((id) => uses[index - 1]?.includes(id) !== true);
    if (foreign !== undefined)
      return `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${foreign}`;
    if (new Set(results[index]).size < (results[index]?.length ?? 0))
      return `messages.${index}: each tool_use must have a single result`;
    const kinds = objectsIn(message['content']).map(({ type }) => type === 'tool_result');
    return kinds.lastIndexOf(true) > kinds.indexOf(false) && kinds.includes(false)
      ? `messages.${index}: tool_result blocks must come first`
      : undefined;
  });
};

/** With a manual thinking budget, a request must include the thinking that led to the last calls. */
const thoughts: Rule = ({ messages, thinking }) => {
  if (!isJsonObject(thinking) || thinking['type'] !== 'enabled') return undefined;
  const said = objectsIn(messages);
  const index = said.findLastIndex(({ role }) => role === 'assistant');
  const [first, ...rest] = objectsIn(said[index]?.['content']).map(({ type }) => type);
  const called = [first, ...rest].includes('tool_use');
  return called && first !== 'thinking' && first !== 'redacted_thinking'
    ? `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${wordsOf(first)}\`.`
    : undefined;
};

const rules: readonly Rule[] = [
  members,
  version,
  streaming,
  betas,
  limits,
  tools,
  system,
  conversation,
  pairs,
  thoughts,
];
