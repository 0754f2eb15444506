import type { ApiFamily } from '../routing/model.ts';
import { unsentChatFields } from './unsent-chat-fields.ts';
import { unsentMessagesFields } from './unsent-messages-fields.ts';
import type { UnsentFields, UpstreamBody } from './upstream-bodies.ts';

/** Everything that is left out of a body silently. Every other documented field is sent, or rejected by name. */
export const unsentFields: readonly UnsentFields[] = [
  ...unsentChatFields,
  ...unsentMessagesFields,
  {
    family: 'responses',
    fields: ['tools[] (image_generation)'],
    in: ['responses'],
    because:
      'Platform B has no such tool: a request that only offers it is answered without it, one that requires it is refused. Elsewhere it is sent.',
  },
  {
    family: 'embeddings',
    fields: ['user'],
    in: ['text_embeddings'],
    because: 'It identifies the end user to the upstream; the model does not see it.',
  },
  {
    family: 'embeddings',
    fields: ['encoding_format (float)'],
    in: ['text_embeddings'],
    because: 'The platform always answers with numbers.',
  },
];

/** The fields of a family that are left out of a body. */
export const unsentIn = (body: UpstreamBody, family: ApiFamily): readonly string[] =>
  unsentFields.flatMap((each) => (each.family === family && each.in.includes(body) ? each.fields : []));
