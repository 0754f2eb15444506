import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';
import { type Fault, firstFault, objectsIn, strangerIn, wordsOf } from './platform-faults.ts';

const memberFault = (object: JsonObject, known: readonly string[], at: string): Fault => {
  const unknown = strangerIn(object, known);
  return unknown === undefined
    ? undefined
    : `Invalid JSON payload received. Unknown name "${unknown}"${at === '' ? '' : ` at '${at}'`}: Cannot find field.`;
};

/** The reason why the platform refuses a generate-content body; undefined if it accepts it. */
export const generateContentFault = (body: JsonObject, model: string): Fault =>
  memberFault(body, requestMembers, '') ??
  systemFault(body['systemInstruction']) ??
  contentsFault(objectsIn(body['contents'])) ??
  callsFault(objectsIn(body['contents']), model) ??
  toolsFault(body) ??
  configFault(body['generationConfig'], model);

const requestMembers = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'labels',
  'cachedContent',
];

const systemFault = (system: unknown): Fault => {
  if (system === undefined) return undefined;
  if (!isJsonObject(system)) return 'Invalid value at systemInstruction';
  return firstFault(objectsIn(system['parts']), ({ text }) =>
    typeof text === 'string' && text !== '' ? undefined : 'systemInstruction must have text parts',
  );
};

function contentsFault(contents: readonly JsonObject[]): Fault {
  if (contents.length === 0)
    return 'Unable to submit request because at least one contents field is required.';
  if (contents[0]?.['role'] !== 'user' || contents.at(-1)?.['role'] !== 'user')
    return 'Please ensure that the conversation begins and ends with a user role.';
  return firstFault(contents, (content, index) => {
    const { role, parts } = content;
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.';
    if (role === contents[index - 1]?.['role'] && named(contents[index - 1], 'functionResponse').length === 0)
      return 'Please ensure that multiturn requests alternate between user and model.';
    const said = objectsIn(parts);
    if (said.length === 0)
      return 'Unable to submit request because it must include at least one parts field.';
    // The words are the platform's own: https://github.com/Prism-Shadow/agenthub/pull/189
    const results = named(content, 'functionResponse').length;
    if (results > 0 && results < said.length) return 'Requests ending with a model turn are not supported.';
    return (
      memberFault(content, ['role', 'parts'], `contents[${index}]`) ??
      firstFault(said, (part, at) => partFault(part, role, `contents[${index}].parts[${at}]`))
    );
  });
}

/** The members of each kind of part, and the roles that can send it. */
const kinds: Readonly<
  Record<string, { readonly by: readonly string[]; readonly members: readonly string[] }>
> = {
  text: { by: ['user', 'model'], members: [] },
  inlineData: { by: ['user'], members: ['mimeType', 'data'] },
  fileData: { by: ['user'], members: ['mimeType', 'fileUri'] },
  functionCall: { by: ['model'], members: ['name', 'args'] },
  functionResponse: { by: ['user'], members: ['name', 'response'] },
};

function partFault(part: JsonObject, role: string, at: string): Fault {
  const found = Object.keys(part).filter((name) => Object.hasOwn(kinds, name));
  const [kind] = found;
  if (kind === undefined || found.length > 1)
    return `Unable to submit request because ${at} must have one initialized field.`;
  const { by = [], members = [] } = kinds[kind] ?? {};
  if (!by.includes(role)) return `${at}: \`${kind}\` is not for the role ${role}.`;
  const unknown = memberFault(part, [kind, 'thought', 'thoughtSignature'], at);
  if (unknown !== undefined) return unknown;
  const value = part[kind];
  if (kind === 'text')
    return value === '' ? 'Unable to submit request because it must have a text parameter.' : undefined;
  if (!isJsonObject(value)) return `Invalid value at '${at}.${kind}'`;
  const missing = members.find((name) => value[name] === undefined);
  return missing === undefined
    ? memberFault(value, members, `${at}.${kind}`)
    : `${at}.${kind}.${missing} is required.`;
}

const named = (content: JsonObject | undefined, kind: string): readonly string[] =>
  objectsIn(content?.['parts']).flatMap((part) => {
    const value = part[kind];
    return isJsonObject(value) ? [wordsOf(value['name'])] : [];
  });

/** Calls and results must be in consecutive turns, in the same number and order. */
function callsFault(contents: readonly JsonObject[], model: string): Fault {
  return firstFault(contents, (content, index) => {
    const calls = named(content, 'functionCall');
    const results = named(contents[index + 1], 'functionResponse');
    if (content['role'] === 'model' && calls.join() !== results.join())
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
    if (calls.length === 0 || !model.startsWith('gemini-3')) return undefined;
    const [first] = objectsIn(content['parts']).filter(({ functionCall }) => functionCall !== undefined);
    return typeof first?.['thoughtSignature'] === 'string'
      ? undefined
      : `Unable to submit request because function call \`${calls[0]}\` is missing a \`thought_signature\`.`;
  });
}

function toolsFault({ tools, toolConfig }: JsonObject): Fault {
  const declared = objectsIn(tools).flatMap(({ functionDeclarations }) => objectsIn(functionDeclarations));
  const names = declared.map(({ name }) => wordsOf(name));
  if (new Set(names).size < names.length) return `Duplicate function declaration found: ${names.join()}`;
  const config = isJsonObject(toolConfig) ? toolConfig['functionCallingConfig'] : undefined;
  if (isJsonObject(config)) {
    if (declared.length === 0) return 'Function calling config is set without function_declarations.';
    if (!['AUTO', 'ANY', 'NONE'].includes(wordsOf(config['mode']))) return 'Invalid value at toolConfig mode';
    const allowed = config['allowedFunctionNames'];
    if (
      Array.isArray(allowed) &&
      (config['mode'] !== 'ANY' || !allowed.every((name) => names.includes(wordsOf(name))))
    )
      return 'Allowed function names should only be set for ANY mode and be declared.';
  }
  return firstFault(declared, (declaration) => {
    if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(wordsOf(declaration['name'])))
      return 'Invalid function name. Must start with a letter or an underscore.';
    const { parametersJsonSchema: schema } = declaration;
    if (schema !== undefined && !(isJsonObject(schema) && schema['type'] === 'object'))
      return 'functionDeclaration parameters schema should be of type OBJECT.';
    return memberFault(
      declaration,
      ['name', 'description', 'parameters', 'parametersJsonSchema', 'response'],
      'tools[0].functionDeclarations',
    );
  });
}

const configMembers = [
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'candidateCount',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'stopSequences',
  'responseLogprobs',
  'logprobs',
  'responseMimeType',
  'responseJsonSchema',
  'thinkingConfig',
];

function configFault(config: unknown, model: string): Fault {
  if (config === undefined) return undefined;
  if (!isJsonObject(config)) return "Invalid value at 'generationConfig'";
  const unknown = memberFault(config, configMembers, 'generation_config');
  if (unknown !== undefined) return unknown;
  if (config['responseJsonSchema'] !== undefined && config['responseMimeType'] !== 'application/json')
    return 'responseMimeType must be application/json where there is a response schema.';
  const { thinkingConfig: thinking } = config;
  if (!isJsonObject(thinking)) return undefined;
  if (thinking['thinkingLevel'] !== undefined && thinking['thinkingBudget'] !== undefined)
    return 'You can only set only one of thinking budget and thinking level.';
  if (thinking['thinkingLevel'] !== undefined && !model.startsWith('gemini-3'))
    return 'Thinking level is not supported for this model.';
  return memberFault(
    thinking,
    ['includeThoughts', 'thinkingLevel', 'thinkingBudget'],
    'generation_config.thinking_config',
  );
}
