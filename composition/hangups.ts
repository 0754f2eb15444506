import type { ConfigProblem } from '../infrastructure/config/problem.ts';
import { causeOf, type Log } from '../infrastructure/logging.ts';
import { brokenConstraint, wayOutOf } from '../infrastructure/postgres/database-fault.ts';
import type { ProcessControl } from './process-control.ts';

type Reload = () => Promise<readonly ConfigProblem[]>;

export interface Hangups {
  /** Reloads from now on; at once for one that arrived before. */
  readonly answerWith: (reload: Reload) => void;
}

/**
 * SIGHUP reloads the file. One that arrives during startup does not end the process; it is handled when startup is
 * done.
 */
export function hangups(control: Pick<ProcessControl, 'onReload'>, log: Log): Hangups {
  let reload: Reload | undefined;
  let early = false;
  const take = (): void => {
    early = reload === undefined;
    reload?.().then(
      (problems) => reportReload(log, problems),
      (error: unknown) =>
        log.error(
          { error: causeOf(error), broken: brokenConstraint(error), advice: wayOutOf(error) },
          'the configuration could not be applied',
        ),
    );
  };
  control.onReload(take);
  return {
    answerWith: (how) => {
      reload = how;
      if (early) take();
    },
  };
}

/** A bad file is refused with an error for each problem, and the old state stays. */
function reportReload(log: Log, problems: readonly ConfigProblem[]): void {
  if (problems.length === 0) log.info({}, 'the configuration was applied');
  for (const { path: at, line, message } of problems)
    log.error({ path: at, line, problem: message }, 'the configuration was refused, and the old one stays');
}
