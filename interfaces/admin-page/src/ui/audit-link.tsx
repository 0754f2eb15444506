/**
 * To who changed a thing. It is a link of the browser's own: notices stand outside of the pages, where the page's
 * router is not.
 */
export const AuditLink = ({ of }: { readonly of: string }) => (
  <a href={`/admin/audit?target_id=${encodeURIComponent(of)}`}>Audit</a>
);
