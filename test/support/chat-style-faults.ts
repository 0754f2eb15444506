import type { JsonObject } from '../../tools/simulated-upstream/json-object.ts';
import { type Fault, objectsIn, wordsOf } from './platform-faults.ts';

const roles: readonly unknown[] = ['system', 'developer', 'user', 'assistant', 'tool'];

/** The reason why a host of the chat-completions API refuses a body; undefined if it accepts it. */
export function chatFault(body: JsonObject, model: string): Fault {
  if (body['model'] !== model) return `The model '${wordsOf(body['model'])}' does not exist`;
  if (body['stream_options'] !== undefined && body['stream'] !== true)
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
  const waiting = new Set<string>();
  for (const { role, tool_calls: calls, tool_call_id: answered } of objectsIn(body['messages'])) {
    if (!roles.includes(role)) return `Invalid value: '${wordsOf(role)}'.`;
    if (role === 'tool' && !waiting.delete(wordsOf(answered)))
      return "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
    if (role !== 'tool' && waiting.size > 0)
      return `An assistant message with 'tool_calls' must be followed by tool messages: ${[...waiting].join()}`;
    for (const { id } of objectsIn(calls)) waiting.add(wordsOf(id));
  }
  return waiting.size === 0 ? undefined : 'No tool output was found.';
}

/** The format of item ids. */
const itemIds: Readonly<Record<string, RegExp>> = {
  message: /^msg_[A-Za-z0-9_-]{1,60}$/,
  reasoning: /^rs_[A-Za-z0-9_-]{1,61}$/,
  function_call: /^fc_[A-Za-z0-9_-]{1,61}$/,
  function_call_output: /^(?:fc|fco)_[A-Za-z0-9_-]{1,60}$/,
};

/** The reason why a host of the responses API refuses a body; undefined if it accepts it. */
export function responsesFault(body: JsonObject, model: string): Fault {
  if (body['model'] !== model) return `The model '${wordsOf(body['model'])}' does not exist`;
  const hosted = objectsIn(body['tools']).find(({ type }) => type !== 'function');
  if (hosted !== undefined) return `Hosted tool '${wordsOf(hosted['type'])}' is not supported.`;
  const waiting = new Set<string>();
  for (const [index, item] of objectsIn(body['input']).entries()) {
    const { type = 'message', id, call_id: call } = item;
    const shape = itemIds[wordsOf(type)];
    if (shape === undefined) return `Invalid value: '${wordsOf(type)}'.`;
    if (id !== undefined && !shape.test(wordsOf(id)))
      return `Invalid 'input[${index}].id': '${wordsOf(id)}'. Expected an ID that begins with another prefix.`;
    if (type === 'function_call') waiting.add(wordsOf(call));
    if (type === 'function_call_output' && !waiting.delete(wordsOf(call)))
      return `No tool call found for function call output with call_id ${wordsOf(call)}.`;
  }
  return waiting.size === 0 ? undefined : `No tool output found for function call ${[...waiting].join()}.`;
}
