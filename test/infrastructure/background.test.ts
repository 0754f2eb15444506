import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { inTheBackground } from '../../composition/background.ts';
import type { ServiceParts } from '../../composition/parts.ts';
import type { LiveConfig } from '../../infrastructure/config/live-config.ts';
import { memoryLog } from '../support/gateway.ts';
import { until } from '../support/otlp-receiver.ts';

const never = new Promise<never>(() => undefined);
const often = { pollIntervalSecs: 0.001, batchSize: 1 };
const config = { loaded: () => ({ config: { budgetAlerts: often } }) } as unknown as LiveConfig;

it('a process that stops settles its journal while a mail server is silent', async () => {
  const calls: string[] = [];
  const call = (name: string) => async (): Promise<void> => void calls.push(name);
  let bytes = 100;
  const parts = {
    alerting: {
      dispatch: () => {
        calls.push('mail');
        return never;
      },
    },
    recovery: async () => {
      calls.push('recovery');
      bytes = 0;
    },
    journal: { size: () => bytes, maxBytes: 1000, close: call('journal closed') },
    payloads: { counts: () => ({ shed: 0, queuedBytes: 0 }) },
    process: { beat: async () => undefined },
    keyUse: { write: async () => undefined },
  } as unknown as ServiceParts;
  const background = inTheBackground(parts, config, memoryLog(), () => false);
  await until(() => calls.includes('mail'));
  await Promise.race([background.stop(1000), sleep(1000)]);
  expect(calls).toEqual(['mail', 'recovery', 'journal closed']);
});
