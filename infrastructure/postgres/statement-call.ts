import type { Connection as Wire, Submittable } from 'pg';

/** A statement and its name, which depends on the text alone: no session ever holds another statement under it. */
export interface NamedStatement {
  readonly text: string;
  /** Empty where statement names do not work; the statement is then parsed each time. */
  readonly name: string;
}

/** A value as sent to the server: text in PostgreSQL's own spelling, or bytes in its binary form. */
export type SentValue = string | Buffer | null;

/** Columns as the server spells them, in the order of the statement. */
export type TextRow = readonly (string | null)[];

/**
 * One call of a named statement over the driver's connection. The driver's own query requests a description of the rows
 * each time, to build objects from it; here the columns are known from the statement.
 */
export class StatementCall implements Submittable {
  private readonly statement: NamedStatement;
  private readonly values: readonly SentValue[];
  private readonly known: Set<string>;
  private readonly resolve: (rows: readonly TextRow[]) => void;
  private readonly reject: (error: Error) => void;
  private readonly rows: TextRow[] = [];

  /** `known` holds the names of statements that the server has prepared. */
  constructor(
    statement: NamedStatement,
    values: readonly SentValue[],
    known: Set<string>,
    resolve: (rows: readonly TextRow[]) => void,
    reject: (error: Error) => void,
  ) {
    this.statement = statement;
    this.values = values;
    this.known = known;
    this.resolve = resolve;
    this.reject = reject;
  }

  /** Sends all messages in one write. */
  submit(wire: Wire): null {
    const { text, name } = this.statement;
    wire.stream.cork();
    try {
      if (!this.known.has(name)) {
        wire.once('parseComplete', this.parsed);
        wire.parse({ text, name, types: [] }, true);
      }
      wire.bind({ statement: name, values: [...this.values] }, true);
      wire.execute(null, true);
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
    return null;
  }

  handleDataRow({ fields }: { readonly fields: TextRow }): void {
    this.rows.push(fields);
  }

  /** The command tag is not needed. */
  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.resolve(this.rows);
  }

  handleError(error: Error, wire: Wire): void {
    wire.off('parseComplete', this.parsed);
    this.reject(error);
  }

  /** From now on the server knows the name, even if the call itself fails. */
  private readonly parsed = (): void => {
    const { name } = this.statement;
    if (name !== '') this.known.add(name);
  };
}
