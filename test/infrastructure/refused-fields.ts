import type { JsonObject } from '../../domain/shared/json.ts';
import * as generateContent from './generate-content-sending.ts';
import * as messagesBody from './messages-body-sending.ts';
import * as unified from './unified-sending.ts';

const claudeOnConverse = { model: 'anthropic.claude-sonnet-4-20250514-v1:0' };

/** The field of a chat body that is rejected; a test fails, or finds `undefined`, if the body is sent. */
type RefusedFor = (body: JsonObject) => string | undefined;

/** Each upstream body that chat bodies are translated to. */
export const translatedBodies: readonly (readonly [name: string, refusedFor: RefusedFor])[] = [
  ['generate-content', (body) => generateContent.refused(body)],
  ['converse', (body) => unified.rejected(body)],
  ['converse, for the messages family', (body) => unified.rejected(body, claudeOnConverse)],
  ...messagesBody.styles.map(
    ([name, rules]) =>
      [
        name,
        (body: JsonObject) => messagesBody.refusal({ ...messagesBody.minimal, ...body }, rules)?.param,
      ] as const,
  ),
];
