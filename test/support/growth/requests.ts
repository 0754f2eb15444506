import type { ApiFamily } from '../../../domain/routing/model.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { times } from './growth.ts';

/** Members of a body in which something is repeated so many times. */
export type Shape = (count: number) => object;
type Shapes = Readonly<Record<string, Shape>>;

const user = (content: unknown = 'Hi') => ({ role: 'user', content });
const text = (index: number) => ({ type: 'text', text: `t${index}` });
const dataUrl = 'data:image/png;base64,AAAA';
const pdf = 'data:application/pdf;base64,AAAA';
const members = (count: number, prefix: string): JsonObject =>
  Object.fromEntries(times(count, (index) => [`${prefix}${index}`, index] as const));

/**
 * A quarter as many members of the body as there are of anything else: the engine's own copy of an object takes six
 * to eight times as long for 80,000 members as for 20,000, since its hash table no longer fits a cache.
 */
const bodyMembers = (count: number): JsonObject => members(count / 4, 'x');

const tool = (index: number) => ({ type: 'function', function: { name: `f${index}`, parameters: {} } });
const call = (index: number, id = `c${index}`) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '{"a":1}' },
});
const result = (index: number, id = `c${index}`) => ({ role: 'tool', tool_call_id: id, content: 'ok' });
const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }];

const chat: Shapes = {
  'messages of one role': (count) => ({ messages: times(count, () => user()) }),
  'messages of alternating roles': (count) => ({
    messages: times(count, (index) => (index % 2 === 0 ? user() : { role: 'assistant', content: 'Hello' })),
  }),
  'messages of the assistant in a row': (count) => ({
    messages: [user(), ...times(count, () => ({ role: 'assistant', content: [text(0)], refusal: 'No.' }))],
  }),
  'system messages': (count) => ({
    messages: [...times(count, () => ({ role: 'developer', content: 'x' })), user()],
  }),
  'empty messages': (count) => ({ messages: [user(), ...times(count, () => user(''))] }),
  'calls and results': (count) => ({
    tools,
    messages: [
      user(),
      { role: 'assistant', tool_calls: times(count, (index) => call(index)) },
      ...times(count, (index) => result(index)),
    ],
  }),
  'calls and results of one id, which is no native one': (count) => ({
    tools,
    messages: [
      user(),
      { role: 'assistant', tool_calls: times(count / 2, (index) => call(index, 'c c')) },
      ...times(count / 2, (index) => result(index, 'c c')),
    ],
  }),
  'calls and results in turn, without tools': (count) => ({
    messages: [
      user(),
      ...times(count / 2, (index) => [
        { role: 'assistant', tool_calls: [call(index)] },
        result(index),
      ]).flat(),
    ],
  }),
  'text parts': (count) => ({ messages: [user(times(count, text))] }),
  'parts of a tool result': (count) => ({
    tools,
    messages: [
      user(),
      { role: 'assistant', tool_calls: [call(0)] },
      { ...result(0), content: times(count, text) },
    ],
  }),
  'parts of thinking': (count) => ({
    messages: [
      user(),
      { role: 'assistant', content: times(count, () => ({ type: 'thinking', thinking: 'x' })) },
    ],
  }),
  images: (count) => ({
    messages: [user(times(count, () => ({ type: 'image_url', image_url: { url: dataUrl } })))],
  }),
  'files of one name': (count) => ({
    messages: [user(times(count, () => ({ type: 'file', file: { filename: 'a.pdf', file_data: pdf } })))],
  }),
  tools: (count) => ({
    messages: [user()],
    tools: times(count, tool),
    tool_choice: { type: 'function', function: { name: `f${count - 1}` } },
  }),
  'properties of a schema': (count) => ({
    messages: [user()],
    tools: [
      {
        type: 'function',
        function: { name: 'f', parameters: { type: 'object', properties: members(count, 'p') } },
      },
    ],
  }),
  'arguments of a call': (count) => ({
    tools,
    messages: [
      user(),
      {
        role: 'assistant',
        tool_calls: [{ ...call(0), function: { name: 'f', arguments: JSON.stringify(members(count, 'a')) } }],
      },
      result(0),
    ],
  }),
  'members of the body': (count) => ({ messages: [user()], ...bodyMembers(count) }),
  'members of metadata': (count) => ({ messages: [user()], metadata: members(count, 'x') }),
  'stop sequences': (count) => ({ messages: [user()], stop: times(count, (index) => `s${index}`) }),
};

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
const use = (index: number) => ({ type: 'tool_use', id: `c${index}`, name: 'f', input: { a: 1 } });
const answered = (index: number) => ({ type: 'tool_result', tool_use_id: `c${index}`, content: 'ok' });
const messagesTools = [{ name: 'f', input_schema: { type: 'object' } }];

const messages: Shapes = {
  'messages of one role': (count) => ({ messages: times(count, () => user()) }),
  'messages of alternating roles': (count) => ({
    messages: times(count, (index) =>
      index % 2 === 0 ? user() : { role: 'assistant', content: [text(index)] },
    ),
  }),
  'system messages': (count) => ({
    messages: [user(), ...times(count, () => ({ role: 'system', content: 'x' })), user()],
  }),
  'system blocks': (count) => ({ system: times(count, text), messages: [user()] }),
  'text blocks': (count) => ({ messages: [user(times(count, text))] }),
  'thinking blocks': (count) => ({
    messages: [
      user(),
      {
        role: 'assistant',
        content: [...times(count, () => ({ type: 'thinking', thinking: 'x', signature: '' })), text(0)],
      },
    ],
  }),
  'calls and results': (count) => ({
    tools: messagesTools,
    messages: [
      user(),
      { role: 'assistant', content: times(count / 2, use) },
      user(times(count / 2, answered)),
    ],
  }),
  'calls and results in turn': (count) => ({
    tools: messagesTools,
    messages: [
      user(),
      ...times(count / 2, (index) => [
        { role: 'assistant', content: [use(index)] },
        user([answered(index)]),
      ]).flat(),
    ],
  }),
  'calls of turns of the assistant in a row': (count) => ({
    tools: messagesTools,
    messages: [
      user(),
      ...times(count / 2, (index) => ({ role: 'assistant', content: [text(index), use(index)] })),
      user(times(count / 2, answered)),
    ],
  }),
  'blocks of a tool result': (count) => ({
    tools: messagesTools,
    messages: [
      user(),
      { role: 'assistant', content: [use(0)] },
      user([{ ...answered(0), content: times(count, text) }]),
    ],
  }),
  images: (count) => ({ messages: [user(times(count, () => image))] }),
  documents: (count) => ({
    messages: [
      user(
        times(count, () => ({
          type: 'document',
          title: 'a.pdf',
          source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        })),
      ),
    ],
  }),
  tools: (count) => ({
    messages: [user()],
    tools: times(count, (index) => ({ name: `f${index}`, input_schema: { type: 'object' } })),
  }),
  'members of the body': (count) => ({ messages: [user()], ...bodyMembers(count) }),
  'stop sequences': (count) => ({ messages: [user()], stop_sequences: times(count, (index) => `s${index}`) }),
};

const functionCall = (index: number) => ({
  type: 'function_call',
  id: `c ${index}`,
  call_id: `c${index}`,
  name: 'f',
  arguments: '{}',
});

const responses: Shapes = {
  items: (count) => ({ input: times(count, () => user()) }),
  'content parts': (count) => ({ input: [user(times(count, () => ({ type: 'input_text', text: 'x' })))] }),
  'calls and results': (count) => ({
    input: [
      ...times(count, functionCall),
      ...times(count, (index) => ({ type: 'function_call_output', call_id: `c${index}`, output: 'ok' })),
    ],
  }),
  'reasoning items': (count) => ({
    input: times(count, (index) => ({ type: 'reasoning', id: `r ${index}`, summary: [] })),
  }),
  'parts of a result': (count) => ({
    input: [
      { type: 'function_call_output', call_id: 'c', output: times(count, () => ({ type: 'input_image' })) },
    ],
  }),
  tools: (count) => ({
    input: 'Hi',
    tools: times(count, (index) => ({ type: 'function', name: `f${index}`, parameters: {} })),
  }),
  'hosted tools': (count) => ({
    input: 'Hi',
    tools: times(count, (index) => (index % 2 === 0 ? { type: 'image_generation' } : { type: 'web_search' })),
  }),
  'members of the body': (count) => ({ input: 'Hi', ...bodyMembers(count) }),
};

const embeddings: Shapes = {
  texts: (count) => ({ input: times(count, (index) => `t${index}`) }),
  'lists of tokens': (count) => ({ input: times(count, (index) => [index, 2, 3]) }),
  tokens: (count) => ({ input: times(count, (index) => index) }),
  'members of the body': (count) => ({ input: 'Hi', ...bodyMembers(count) }),
};

/** What a caller can send many of, in each family. */
export const requestShapes: Readonly<Record<ApiFamily, Shapes>> = {
  chat_completions: chat,
  messages,
  responses,
  embeddings,
  count_tokens: messages,
};

const common: Readonly<Record<ApiFamily, JsonObject>> = {
  chat_completions: { model: 'asked', max_tokens: 9 },
  messages: { model: 'asked', max_tokens: 9 },
  responses: { model: 'asked' },
  embeddings: { model: 'asked' },
  count_tokens: { model: 'asked' },
};

/** The text of a body of this shape. */
export const bodyText = (family: ApiFamily, shape: Shape, count: number): string =>
  JSON.stringify({ ...common[family], ...shape(count) });
