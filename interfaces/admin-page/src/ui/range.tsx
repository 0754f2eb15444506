import { wordOf } from '../app/words.ts';
import { ChoiceFilter } from './filters.tsx';
import { Time } from './values.tsx';

/** The range of a report with 12-hour buckets. An unknown range is rejected, as in the API. */
export const rangeOf = (text: string | undefined): '7d' | '31d' =>
  wordOf('range', ['7d', '31d'], text) ?? '7d';

export const RangeFilter = () => (
  <ChoiceFilter name="range" label="Range" all="7 days" options={[['31d', '31 days']]} />
);

/** “, since …”: how far back the remaining request logs go. */
export const LogsSince = ({ at }: { readonly at: string | null }) =>
  at === null ? null : (
    <>
      , since <Time at={at} />
    </>
  );

const bucketMs = 12 * 3_600_000;

/** “11-22 12:00”, in UTC. */
export const bucketText = (start: string): string => start.slice(5, 16).replace('T', ' ');

export const endOfBucket = (start: string): string => new Date(Date.parse(start) + bucketMs).toISOString();
