import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions } from '../../../application/families.ts';
import type { LargeBodies } from '../../../application/ports/large-bodies.ts';
import type { Upstream } from '../../../application/ports/upstream.ts';
import { aProvider, aRoute } from '../arbitraries/routing.ts';
import { callerAnswer } from '../../../application/caller-answer.ts';
import { redactedRequest, redactedResponse } from '../../../domain/payload/payload.ts';
import { forCaller, redactionRules } from '../../../domain/payload/redact.ts';
import { answerObject } from '../../../domain/upstream/upstream-fault.ts';

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** Runs the work on large chat bodies in the event loop, as a thread does it in the product. */
export const largeBodiesHere = ({ prepare }: Upstream): LargeBodies => ({
  read: async ({ text, maxValues }) => chatCompletions.read(textOf(text), maxValues),
  prepare: async ({ text }, terms) => prepare({ ...terms, body: textOf(text) }),
  redacted: async ({ text }, { headers, callerKey, source, maxBytes }) =>
    redactedRequest(
      headers,
      { text: textOf(text), isParsed: false },
      forCaller(redactionRules(source.redactionPaths, source.credentials), callerKey),
      maxBytes,
    ),
  readAnswer: async ({ parts: [part] }) => {
    const text = textOf(part?.text ?? new Uint8Array());
    const value = answerObject(text);
    if (E.isLeft(value)) return value;
    const { speaks } = chatCompletions.answerPath(
      { model: '' },
      { route: aRoute(), provider: aProvider('up') },
      '',
    );
    return E.right(callerAnswer({ speaks }, { value: value.right, text }));
  },
  redactedAnswer: async ({ text }, { callerKey, source, maxBytes }) =>
    redactedResponse(
      textOf(text),
      forCaller(redactionRules(source.redactionPaths, source.credentials), callerKey),
      maxBytes,
    ),
});
