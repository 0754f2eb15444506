// Preloaded with `node --import`: says on standard error when a module of OpenTelemetry is asked for.
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier.startsWith('@opentelemetry/')) process.stderr.write(`loads ${specifier}\n`);
    return nextResolve(specifier, context);
  },
});
