import Anthropic1 from '@anthropic-ai/sdk';
import { betaZodTool as betaZodTool1 } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat as zodOutputFormat1 } from '@anthropic-ai/sdk/helpers/zod';
import Anthropic0 from 'anthropic-sdk-0';
import { betaZodTool as betaZodTool0 } from 'anthropic-sdk-0/helpers/beta/zod';
import { zodOutputFormat as zodOutputFormat0 } from 'anthropic-sdk-0/helpers/zod';

export type Sdk = typeof Anthropic1;

interface Line {
  readonly line: '1.x' | '0.x';
  readonly Sdk: Sdk;
  readonly betaZodTool: typeof betaZodTool1;
  readonly zodOutputFormat: typeof zodOutputFormat1;
  /** The header that carries the key. */
  readonly auth: string;
  readonly version: string;
}

/** The two release lines of the library, which share the interface that is used here. */
export const lines: readonly Line[] = [
  {
    line: '1.x',
    Sdk: Anthropic1,
    betaZodTool: betaZodTool1,
    zodOutputFormat: zodOutputFormat1,
    auth: 'authorization',
    version: '2026-10-21',
  },
  {
    line: '0.x',
    Sdk: Anthropic0 as unknown as Sdk,
    betaZodTool: betaZodTool0,
    zodOutputFormat: zodOutputFormat0,
    auth: 'x-api-key',
    version: '2023-06-01',
  },
];
