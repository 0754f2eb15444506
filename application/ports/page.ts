/** `total` is exact up to a bound; at the bound it is a lower bound. */
export interface Page<A> {
  readonly items: readonly A[];
  readonly total: number;
  readonly totalIsLowerBound: boolean;
}

export interface PageRequest {
  /** Counted from 1. */
  readonly page: number;
  readonly pageSize: number;
}
