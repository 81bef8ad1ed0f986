import type { Noun } from './noun.ts'

/** `multihub operations`. */
export const noun: Noun = {
  service: async () => (await import('#gen/multihub/backoffice/v1/operation_service_pb.ts')).OperationService,
  verbs: [
    {
      name: 'list',
      about: 'list runs of the commands on the databases, the newest first',
      rpc: 'listOperations',
      columns: ['begin_time', 'kind', 'outcome', 'end_time', 'covered_time', 'bytes', 'failure', 'release'],
    },
  ],
}
