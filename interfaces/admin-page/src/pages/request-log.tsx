import { Link, useParams } from '@tanstack/react-router';
import { Page as Frame } from '../ui/page.tsx';
import { Id } from '../ui/values.tsx';
import { RequestOf } from './request-log/drawer.tsx';

/** One request in full. */
export function Page() {
  const { requestLogId = '' } = useParams({ strict: false });
  return (
    <Frame
      title="Request"
      facts={<Id of={requestLogId} short={false} />}
      actions={
        <Link className="button" to="/observability/request-logs">
          All requests
        </Link>
      }
    >
      <h2 className="unseen">Details</h2>
      <RequestOf requestLogId={requestLogId} />
    </Frame>
  );
}
