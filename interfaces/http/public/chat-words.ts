import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import { openAiError } from '../error-presenter.ts';
import type { StreamWords } from './stream-answer.ts';

const doneFrame = Buffer.from('data: [DONE]\n\n');

const dataFrame = (payload: JsonObject): string => `data: ${JSON.stringify(payload)}\n\n`;

/** A chat stream in its own words: bytes that no rule touched go out as they came in. */
export const chatWords: StreamWords = {
  frame: (event: StreamEvent<JsonObject>) => {
    switch (event.kind) {
      case 'chunk':
        return event.wire ?? dataFrame(event.chunk);
      case 'done':
        return doneFrame;
      case 'failed':
        return errorFrame(event.error);
    }
  },
};

/** A chunk that holds `error` alone: clients throw on it. */
const errorFrame = (error: GatewayError): string => dataFrame(openAiError(error));
