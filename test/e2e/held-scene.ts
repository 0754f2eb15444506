import { afterAll, beforeAll } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { type ConfigFile, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { type HeldUpstream, startHeldUpstream } from './held-upstream.ts';
import { finalTracesIn, tracesIn } from './traces.ts';

/** A gateway in front of an upstream whose answers the test sends itself, and the rows of its requests. */
export function heldScene(config: (upstreamUrl: string) => ConfigFile) {
  const database = withDatabase();
  const query = queries(database.url);
  let upstream: HeldUpstream;
  let gateway: TestGateway;
  let stopped: Promise<void> | undefined;
  beforeAll(async () => {
    upstream = await startHeldUpstream();
    gateway = await startGateway(config(upstream.url), database.url());
  });
  /** Stops the gateway; a test may call it before the suite ends. */
  async function stop(): Promise<void> {
    stopped ??= gateway?.stop();
    await stopped;
  }
  afterAll(async () => {
    await upstream?.close();
    await stop();
  });
  return {
    query,
    databaseUrl: database.url,
    traceOf: tracesIn(query),
    finalTraceOf: finalTracesIn(query, () => gateway),
    gateway: () => gateway,
    upstream: () => upstream,
    stop,
  };
}
