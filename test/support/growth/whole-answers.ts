import type { ApiFamily } from '../../../domain/routing/model.ts';
import { times } from './growth.ts';

/** What an upstream can send many of; `route` and `family` say how it is parsed. */
export interface AnswerShape {
  readonly route: string;
  readonly family: ApiFamily;
  readonly of: string;
}

export interface WholeShape extends AnswerShape {
  readonly body: (count: number) => object;
}

/** A tool call of a chat completion. */
export const call = (index: number) => ({
  index,
  id: `c${index}`,
  type: 'function',
  function: { name: 'f', arguments: '{}' },
});
const completion = (message: object) => ({
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }],
});

/** For messages, too: they are translated from the same chat completion. */
export const chatFamilies = ['chat_completions', 'messages'] as const;

const chatWhole: readonly WholeShape[] = chatFamilies.flatMap((family) =>
  [
    { of: 'tool calls', body: (count: number) => completion({ tool_calls: times(count, call) }) },
    {
      of: 'content parts',
      body: (count: number) => completion({ content: times(count, () => ({ type: 'text', text: 'x' })) }),
    },
    {
      of: 'parts of thinking',
      body: (count: number) =>
        completion({
          content: times(count, () => ({ type: 'thinking', thinking: [{ type: 'text', text: 'x' }] })),
        }),
    },
    {
      of: 'choices',
      body: (count: number) => ({ choices: times(count, (index) => ({ index, message: { content: 'x' } })) }),
    },
  ].map((shape) => ({ route: 'compat', family, ...shape })),
);

const message = (content: readonly object[]) => ({ type: 'message', content, stop_reason: 'end_turn' });
const messagesRoutes = ['cloud_a_platform anthropic', 'runtime_messages', 'endpointb_messages'] as const;

const messagesWhole: readonly WholeShape[] = messagesRoutes.flatMap((route) =>
  chatFamilies.flatMap((family) =>
    [
      {
        of: 'text blocks',
        body: (count: number) => message(times(count, () => ({ type: 'text', text: 'x' }))),
      },
      {
        of: 'tool calls',
        body: (count: number) =>
          message(
            times(count, (index) => ({ type: 'tool_use', id: `c${index}`, name: 'f', input: { a: 1 } })),
          ),
      },
    ].map((shape) => ({ route, family, ...shape })),
  ),
);

const candidate = (parts: readonly object[]) => ({
  candidates: [{ content: { parts }, finishReason: 'STOP' }],
});

const platformWhole: readonly WholeShape[] = [
  {
    of: 'parts',
    route: 'cloud_a_platform google',
    body: (count: number) => candidate(times(count, () => ({ text: 'x' }))),
  },
  {
    of: 'calls',
    route: 'cloud_a_platform google',
    body: (count: number) => candidate(times(count, () => ({ functionCall: { name: 'f', args: { a: 1 } } }))),
  },
  {
    of: 'pieces of arguments',
    route: 'cloud_a_platform google',
    body: (count: number) =>
      candidate([
        {
          functionCall: {
            name: 'f',
            partialArgs: times(count, (index) => ({ jsonPath: `$.a[${index}]`, stringValue: 'x' })),
          },
        },
      ]),
  },
  {
    of: 'blocks',
    route: 'runtime_unified',
    body: (count: number) => ({
      stopReason: 'end_turn',
      output: { message: { content: times(count, () => ({ text: 'x' })) } },
    }),
  },
].map((shape) => ({ family: 'chat_completions', ...shape }));

export const wholeAnswers: readonly WholeShape[] = [
  ...chatWhole,
  ...messagesWhole,
  ...platformWhole,
  ...['compat', 'endpointb_responses'].map(
    (route): WholeShape => ({
      of: 'output items',
      route,
      family: 'responses',
      body: (count) => ({
        output: times(count, (index) => ({ type: 'function_call', call_id: `c${index}` })),
      }),
    }),
  ),
  {
    of: 'embeddings',
    route: 'compat',
    family: 'embeddings',
    body: (count) => ({ data: times(count, (index) => ({ index, embedding: [0.5, 1] })) }),
  },
];
