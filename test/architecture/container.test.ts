import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import { buildContainer, tokens } from '../../composition/container.ts';
import { liveConfig } from '../../infrastructure/config/live-config.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { bundledCatalogue } from '../../infrastructure/pricing/bundled.ts';
import { mcpTelemetryTo } from '../../infrastructure/telemetry/mcp-telemetry.ts';
import { telemetryTo } from '../../infrastructure/telemetry/request-telemetry.ts';
import { withDatabase } from '../support/database.ts';
import { basicConfig, memoryLog } from '../support/gateway.ts';

const database = withDatabase();
const close: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const each of close) await each();
});

describe('the container', () => {
  it('resolves every token', async () => {
    const variables = { DATABASE_URL: database.url() };
    const text = stringify(basicConfig('http://127.0.0.1:1/v1', `gwk_${'0'.repeat(32)}.${'0'.repeat(64)}`));
    const loaded = parseConfig(text, variables);
    if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
    const pool = await openPool(database.url(), 1);
    close.push(() => pool.end());
    const container = buildContainer({
      config: liveConfig(path.join('nowhere', 'gateway.yaml'), variables, loaded.right, bundledCatalogue()),
      pool,
      replica: undefined,
      cluster: undefined,
      log: memoryLog(),
      telemetry: telemetryTo({ log: () => undefined }),
      mcpTelemetry: mcpTelemetryTo({ log: () => undefined }),
      notReady: async () => undefined,
    });
    for (const token of Object.values(tokens)) expect(container.get<unknown>(token)).toBeDefined();
  });
});
