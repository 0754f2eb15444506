import type { UpstreamBody } from '../../../domain/compatibility/unsent-fields.ts';
import type { ApiFamily } from '../../../domain/routing/model.ts';

interface NotYet {
  readonly family: ApiFamily;
  readonly fields: readonly string[];
  readonly in: readonly UpstreamBody[];
}

/** Fields that are dropped, or refused by another name, although they should not be. */
const known: readonly NotYet[] = [
  {
    family: 'chat_completions',
    fields: ['tools[].function.strict'],
    in: ['generate_content', 'raw_predict', 'invoke', 'endpointb_messages'],
  },
  { family: 'messages', fields: ['tools[].strict'], in: ['generate_content'] },
  {
    family: 'messages',
    fields: [
      'cache_control',
      'system[].cache_control',
      'tools[].cache_control',
      'messages[].content[].cache_control',
      'messages[].content[].cache_control (tool_use)',
      'messages[].content[].cache_control (tool_result)',
    ],
    in: ['converse'],
  },
  { family: 'messages', fields: ['output_config.task_budget'], in: ['converse', 'generate_content'] },
  {
    family: 'messages',
    fields: ['tool_choice', 'tool_choice.disable_parallel_tool_use'],
    in: ['converse', 'generate_content'],
  },
  {
    family: 'messages',
    fields: ['output_config.effort', 'output_config.format', 'output_format'],
    in: ['converse'],
  },
];

export const notYet = (family: ApiFamily, body: UpstreamBody): readonly string[] =>
  known.flatMap((each) => (each.family === family && each.in.includes(body) ? each.fields : []));
