/** Half-open, so an instant is in exactly one window of a cadence. */
export interface Window {
  readonly from: Date;
  readonly until: Date;
}
