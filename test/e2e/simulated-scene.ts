import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import {
  type SeenRequest,
  startSimulatedUpstream,
  type SimulatedUpstream,
} from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { queries, startGateway, type TestGateway, type ConfigFile } from '../support/gateway.ts';
import { finalTracesIn, tracesIn } from './traces.ts';

/** A gateway over sockets in front of the simulated upstream, and the records of its requests. */
export function simulatedScene(config: (upstreamUrl: string) => ConfigFile) {
  const database = withDatabase();
  const query = queries(database.url);
  let upstream: SimulatedUpstream;
  let seen: SeenRequest[] = [];
  beforeAll(async () => {
    upstream = await startSimulatedUpstream({ port: 0, onRequest: (request) => void seen.push(request) });
  });

  /** Another gateway over the same database: a replica, or one with a file of its own. */
  function another(file: (upstreamUrl: string) => ConfigFile = config): () => TestGateway {
    let other: TestGateway;
    beforeAll(async () => {
      other = await startGateway(file(upstream.url), database.url());
    });
    afterAll(() => other?.stop());
    return () => other;
  }

  const gateway = another();
  afterAll(() => upstream?.close());
  beforeEach(() => {
    seen = [];
  });
  return {
    query,
    databaseUrl: database.url,
    traceOf: tracesIn(query),
    finalTraceOf: finalTracesIn(query, gateway),
    gateway,
    another,
    upstream: () => upstream,
    /** The requests of this test, as the upstream received them. */
    seen: (): readonly SeenRequest[] => seen,
  };
}
