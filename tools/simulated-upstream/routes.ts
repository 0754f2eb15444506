import type { Family } from './call.ts';
import { simulatedChat } from './chat.ts';
import { chatDialect, type Dialect, messagesDialect, responsesDialect } from './dialect.ts';
import { simulatedEmbeddings } from './embeddings.ts';
import { simulatedMessages } from './messages.ts';
import { simulatedModels } from './models.ts';
import { simulatedResponses } from './responses.ts';

/** A family and the requests that it answers: those whose path ends in `suffix`, whatever precedes it. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly suffix: string;
  readonly family: Family;
  readonly dialect: Dialect;
}

/** One line per family. A new family is a file beside `chat.ts` and a line here. */
export const simulatedRoutes = (): readonly Route[] => [
  { method: 'POST', suffix: '/chat/completions', family: simulatedChat(), dialect: chatDialect },
  { method: 'POST', suffix: '/responses', family: simulatedResponses, dialect: responsesDialect },
  { method: 'POST', suffix: '/messages', family: simulatedMessages, dialect: messagesDialect },
  { method: 'POST', suffix: '/embeddings', family: simulatedEmbeddings, dialect: chatDialect },
  { method: 'GET', suffix: '/models', family: simulatedModels(), dialect: chatDialect },
];
