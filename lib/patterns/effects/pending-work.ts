import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { PendingWorkSchema } from '#gen/multihub/common/v1/pending_work_pb.ts'
import { countedTries, type Effect, type EffectDocument, mayRun } from './effect.ts'

/** The fields of the data of effects that say what an effect is about, and what tells it apart from others of its kind. */
const SUBJECTS = ['refund_id', 'chargeback_id'] as const
const DETAILS = ['event', 'posting', 'status'] as const

/** The effects of a document as an operator reads them (O7): what will be done, when, and what is stuck. */
export function pendingWorkToProto(document: EffectDocument): MessageInitShape<typeof PendingWorkSchema>[] {
  return document.effects.map((effect) => ({
    workId: effect.id,
    kind: effect.kind,
    subjectId: textOf(effect, SUBJECTS),
    detail: textOf(effect, DETAILS),
    dueTime: mayRun(document, effect) ? timestampFromDate(effect.due_at) : undefined,
    tries: countedTries(effect),
    stuck: effect.stuck ?? false,
    failure: effect.failure ?? '',
  }))
}

function textOf({ data }: Effect, names: readonly string[]): string {
  const found = names.map((name) => data[name]).find((value) => typeof value === 'string')
  return typeof found === 'string' ? found : ''
}
