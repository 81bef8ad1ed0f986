import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  OperationKind,
  OperationOutcome,
  type OperationOverviewSchema,
} from '#gen/multihub/backoffice/v1/operation_pb.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import {
  type BackupPlace,
  isExpected,
  type OperationKind as Kind,
  type OperationRun,
  type OperationRuns,
} from '#lib/patterns/operation-runs.ts'

/** The commands on the databases in responses. */
export const OPERATION_KIND_MAP = createEnumMap<Kind, OperationKind>({
  backup: OperationKind.BACKUP,
  restore: OperationKind.RESTORE,
  verify: OperationKind.VERIFY,
  reseal: OperationKind.RESEAL,
  migrate: OperationKind.MIGRATE,
})

/** The commands whose age the overview shows: the ones that must be repeated regularly. */
const SHOWN_KINDS = ['backup', 'verify'] as const

/** What the overview shows of the commands that must be repeated regularly; nothing of backups that are made elsewhere. */
export function readOperationOverview(
  runs: Pick<OperationRuns, 'list' | 'lastSuccess'>,
  backups: BackupPlace,
): Promise<MessageInitShape<typeof OperationOverviewSchema>[]> {
  return Promise.all(
    SHOWN_KINDS.filter((kind) => isExpected(kind, backups)).map(async (kind) => {
      const [[newest], success] = await Promise.all([runs.list(kind), runs.lastSuccess(kind)])
      return {
        kind: OPERATION_KIND_MAP.toProto(kind),
        ...(success && { successTime: timestampFromDate(success.began_at) }),
        ...(newest && { lastOutcome: outcomeOf(newest) }),
      }
    }),
  )
}

/** How a run ended. */
export function outcomeOf({ ended_at, succeeded_at }: OperationRun): OperationOutcome {
  if (ended_at === undefined) return OperationOutcome.UNFINISHED
  return succeeded_at === undefined ? OperationOutcome.FAILED : OperationOutcome.SUCCEEDED
}
