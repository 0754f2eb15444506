import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  StatementCancelledError,
  StatementTimeoutError,
} from 'slonik';
import { AnswerTooLate, brokenConnection, databaseFault, sqlState } from './database-fault.ts';

const ofTheDriver = [
  AnswerTooLate,
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  StatementCancelledError,
  StatementTimeoutError,
];

/** The database was away or too busy: nothing is wrong with the statement, and it may be tried again. */
export const isDatabaseTrouble = (error: unknown): boolean =>
  (sqlState(error) !== undefined ||
    brokenConnection(error) !== undefined ||
    ofTheDriver.some((kind) => error instanceof kind)) &&
  databaseFault(error) !== 'refused';
