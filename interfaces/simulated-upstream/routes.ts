import type { Family } from './call.ts';
import { simulatedChat } from './chat.ts';
import { simulatedModels } from './models.ts';

/** A family and the requests it answers: those whose path ends in `suffix`, whatever comes before. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly suffix: string;
  readonly family: Family;
}

/** One line per family; a new family is a file beside `chat.ts` and a line here. */
export const simulatedRoutes = (): readonly Route[] => [
  { method: 'POST', suffix: '/chat/completions', family: simulatedChat() },
  { method: 'GET', suffix: '/models', family: simulatedModels() },
];
