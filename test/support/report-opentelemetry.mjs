// Preloaded with `node --import`: reports on standard error when a module of OpenTelemetry is loaded.
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier.startsWith('@opentelemetry/')) process.stderr.write(`loads ${specifier}\n`);
    return nextResolve(specifier, context);
  },
});
