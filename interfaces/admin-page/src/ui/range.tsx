import { wordOf } from '../app/words.ts';
import { ChoiceFilter } from './filters.tsx';
import { Time } from './values.tsx';

/** Over how long a report of 12-hour buckets goes; a range that there is not is refused, as the API does. */
export const rangeOf = (text: string | undefined): '7d' | '31d' =>
  wordOf('range', ['7d', '31d'], text) ?? '7d';

export const RangeFilter = () => (
  <ChoiceFilter name="range" label="Range" all="7 days" options={[['31d', '31 days']]} />
);

/** “, since …”: how far the request logs that are left go back. */
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
