import type { Sample } from '../samples/sample.ts';
import type { Target } from './target.ts';
import { adminTargets } from './targets/admin.ts';
import { answerTargets } from './targets/answers.ts';
import { bodiesTarget } from './targets/bodies.ts';
import { configTarget } from './targets/config.ts';
import { framings } from './targets/framings.ts';
import { headersTarget } from './targets/headers.ts';
import { jsonTarget } from './targets/json.ts';
import { mcpTargets } from './targets/mcp.ts';
import { refusalsTarget } from './targets/refusals.ts';
import { requestTargets } from './targets/requests.ts';
import { streamTargets } from './targets/streams.ts';

/** Every reader of external bytes. `recorded`: streams that are mutated beside the project's own. */
export const allTargets = (recorded: readonly Sample[] = []): readonly Target[] => [
  ...framings,
  ...streamTargets(recorded),
  ...answerTargets(),
  ...requestTargets(),
  refusalsTarget,
  jsonTarget,
  bodiesTarget,
  headersTarget,
  ...mcpTargets,
  ...adminTargets,
  configTarget,
];
