import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Drawer } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Empty } from '../../ui/states.tsx';
import { RequestDetail } from './detail.tsx';
import { loadDetail } from './load.ts';

/** A request at the side of the list. */
export const RequestDrawer = ({
  requestLogId,
  onClose,
}: {
  readonly requestLogId: string;
  readonly onClose: () => void;
}) => (
  <Drawer title="Request" onClose={onClose}>
    <p>
      <Link to="/observability/request-logs/$requestLogId" params={{ requestLogId }}>
        Open as a page
      </Link>
    </p>
    <RequestOf requestLogId={requestLogId} />
  </Drawer>
);

/** A request by its id, in any state of loading. */
export function RequestOf({ requestLogId }: { readonly requestLogId: string }) {
  const found = useQuery({
    queryKey: ['request-log', requestLogId],
    queryFn: ({ signal }) => loadDetail(requestLogId, signal),
  });
  return (
    <Loaded
      query={found}
      what="the request"
      gone={
        <Empty title="This request does not exist, or has been deleted">
          <p>Request logs are deleted after their retention. Spend is in the ledger and stays.</p>
        </Empty>
      }
    >
      {(detail) => <RequestDetail detail={detail} />}
    </Loaded>
  );
}
