/** A link to who changed an object. It is a plain link, because notices are rendered outside of the page's router. */
export const AuditLink = ({ of }: { readonly of: string }) => (
  <a href={`/admin/audit?target_id=${encodeURIComponent(of)}`}>Audit</a>
);
