/** What to do about a collection that is not as this release needs it. */
export const MIGRATE_ADVICE =
  'run "main.ts migrate" of this release, then start it again; in Kubernetes apply the job "migrate" and wait for its end'
