import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiError } from '../../api/client.ts';
import { Drawer } from '../../ui/dialog.tsx';
import { Empty, Failed, Waiting } from '../../ui/states.tsx';
import { RequestDetail } from './detail.tsx';
import { loadDetail } from './load.ts';

/** A request beside the list. */
export const RequestDrawer = ({
  requestLogId,
  onClose,
}: {
  readonly requestLogId: string;
  readonly onClose: () => void;
}) => (
  <Drawer title="Request" open onClose={onClose}>
    <p>
      <Link to="/observability/request-logs/$requestLogId" params={{ requestLogId }}>
        Open as a page
      </Link>
    </p>
    <RequestOf requestLogId={requestLogId} />
  </Drawer>
);

/** A request by its id, however far its reading is. */
export function RequestOf({ requestLogId }: { readonly requestLogId: string }) {
  const found = useQuery({
    queryKey: ['request-log', requestLogId],
    queryFn: ({ signal }) => loadDetail(requestLogId, signal),
  });
  if (found.data !== undefined) return <RequestDetail detail={found.data} />;
  if (found.error === null) return <Waiting for="the request" />;
  if (found.error instanceof ApiError && found.error.status === 404)
    return (
      <Empty title="There is no such request, or no longer">
        <p>Request logs are deleted after their retention. Spend is in the ledger and stays.</p>
      </Empty>
    );
  return <Failed error={found.error} again={() => void found.refetch()} />;
}
