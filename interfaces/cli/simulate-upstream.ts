import { startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { flags, type Terminal, UsageError, wholeNumber } from './command.ts';

/** `gateway simulate-upstream --port P [--latency-ms N] [--chunk-delay-ms N]`: the simulated upstream on its own. */
export const simulateUpstreamCommand =
  ({ out }: Terminal, untilStopped: () => Promise<void>) =>
  async (args: readonly string[]): Promise<number> => {
    const { values } = flags(args, {
      port: { type: 'string' },
      host: { type: 'string' },
      'latency-ms': { type: 'string' },
      'chunk-delay-ms': { type: 'string' },
    });
    const port = wholeNumber('port', values.port, 0, 65_535);
    if (port === undefined) throw new UsageError('simulate-upstream needs --port.');
    // Node would listen on every address of the machine.
    if (values.host === '') throw new UsageError('--host must name an address.');
    const latencyMs = wholeNumber('latency-ms', values['latency-ms'], 0, 600_000);
    const chunkDelayMs = wholeNumber('chunk-delay-ms', values['chunk-delay-ms'], 0, 600_000);
    const upstream = await startSimulatedUpstream({
      port,
      ...(values.host === undefined ? {} : { host: values.host }),
      ...(latencyMs === undefined ? {} : { latencyMs }),
      ...(chunkDelayMs === undefined ? {} : { chunkDelayMs }),
    });
    out(`The simulated upstream listens on ${upstream.url}`);
    await untilStopped();
    await upstream.close();
    return 0;
  };
