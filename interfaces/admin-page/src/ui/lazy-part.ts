import { type ComponentType, lazy } from 'react';

/** A part of a page whose code is loaded when it is first shown; `instead` takes its place if that fails (rule 52.14). */
export const lazyPart = <P extends object>(
  load: () => Promise<ComponentType<P>>,
  instead: ComponentType<P>,
) =>
  lazy(() =>
    load().then(
      (part) => ({ default: part }),
      () => ({ default: instead }),
    ),
  );
