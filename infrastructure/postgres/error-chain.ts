/** What is known of one error of a chain. */
export interface ErrorLink {
  /** What it calls itself; a driver's class where it calls itself no more than an error. */
  readonly name: string;
  readonly message: string;
  /** PostgreSQL's or the system's own name for what happened. */
  readonly code: string | undefined;
  /** The rule of the tables that a row breaks, and the table. */
  readonly constraint: string | undefined;
  readonly table: string | undefined;
}

/** Errors that are looked at: longer chains are circles. */
const maxLinks = 16;

/**
 * An error and what it says caused it, the outermost first; of several addresses that failed each. They are known by
 * their shape: an error that Node makes need not be of this realm's class.
 */
export function errorChain(error: unknown): readonly ErrorLink[] {
  const links: ErrorLink[] = [];
  const open: unknown[] = [error];
  while (open.length > 0 && links.length < maxLinks) {
    const at = open.shift();
    if (!isErrorLike(at)) continue;
    links.push({
      name: nameOf(at),
      message: at.message,
      code: textOf(at.code),
      constraint: textOf(at.constraint),
      table: textOf(at.table),
    });
    open.push(at.cause, ...(Array.isArray(at.errors) ? at.errors : []));
  }
  return links;
}

interface ErrorLike {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

const isErrorLike = (value: unknown): value is ErrorLike =>
  typeof value === 'object' &&
  value !== null &&
  'message' in value &&
  typeof value.message === 'string' &&
  'name' in value &&
  typeof value.name === 'string';

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** `Error` alone says nothing. */
const nameOf = (error: ErrorLike): string => {
  const kind: unknown = error.constructor?.name;
  return error.name === 'Error' && typeof kind === 'string' ? kind : error.name;
};
