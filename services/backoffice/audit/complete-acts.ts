import { every } from '#lib/base/time.ts'
import type { KeptAct } from '#lib/store/kept-acts.ts'
import { log as processLog } from '#lib/telemetry/log.ts'
import { counter, gauge } from '#lib/telemetry/metrics.ts'
import type { AppendRecord } from './append-records.ts'
import { type AuditOutcome, type AuditTarget, additionTo, type IntentRecord } from './domain/audit-record.ts'
import type { AuditLog } from './store/audit-log.ts'

/*
 * The outcomes of an act:
 *
 *     intent --its process writes the outcome--> done, refused, unknown
 *       |
 *       | none, or unknown: 60 s after the deadline, look for a proposal with the audit_id, then ask the owner for it
 *       +-- a proposal is stored --> pending_approval
 *       +-- the owner has it --> done
 *       +-- it has not --------> unknown
 *                                  |
 *                                  | 10 min after the deadline, ask once more
 *                                  +-- the owner has it --> done
 *                                  +-- it has not --------> unknown (permanently)
 */

/** How long after its deadline an act without an outcome is completed (O4): its process may still write the outcome. */
export const COMPLETE_AFTER_MS = 60_000

/**
 * How long after its deadline the owner of an act that it did not have is asked for the last time: an owner that was paused can still
 * act meanwhile.
 */
export const LAST_ASKED_AFTER_MS = 600_000

/** Acts that are asked about at once. More would make each other wait until they time out. */
const ASKED_AT_A_TIME = 8

const SWEEP_MS = 10_000
const BATCHES_PER_READ = 64

/**
 * What the owner of an RPC has done for an act: it keeps the `audit_id` in the write of the change. `undefined` when it has done
 * nothing. Throws when the owner cannot be reached.
 */
export type FindAct = (
  act: Pick<IntentRecord, 'audit_id' | 'rpc' | 'request'>,
) => Promise<KeptAct | undefined>

const completed_total = counter(
  'multihub_audit_completed_total',
  'Acts of the audit trail whose process wrote no outcome and that another one completed, by outcome.',
  ['outcome'],
)
const overdue_acts = gauge(
  'multihub_audit_overdue_acts',
  'Acts of the audit trail without an outcome that should have been completed and could not.',
)

/** The id of the approval that an act has proposed; `undefined` when it has proposed nothing (O5). */
export type FindProposal = (act: Pick<IntentRecord, 'audit_id' | 'rpc'>) => Promise<string | undefined>

interface CompleteDeps {
  readonly log: Pick<AuditLog, 'listFrom' | 'getCompleted' | 'setCompleted'>
  readonly append: AppendRecord
  readonly findAct: FindAct
  readonly findProposal: FindProposal
  readonly now_ms: () => number
}

/** An act without a known outcome. */
interface OpenAct {
  readonly intent: IntentRecord
  readonly seq: bigint
  /** Whether the audit trail has the outcome `unknown`, such as after a time-out of the owner. */
  readonly is_unknown: boolean
  /** Whether the owner did not have it when it was asked. */
  readonly was_asked: boolean
}

/**
 * Completes the acts whose process ended before it wrote an outcome, and those whose process wrote `unknown`. Every process follows
 * the whole audit trail. Records are unique, so an act is completed once. `sweep` runs once; it is repeated every 10 s.
 */
export function startCompletion({ log, append, findAct, findProposal, now_ms }: CompleteDeps) {
  const open = new Map<string, OpenAct>()
  let read_to: bigint | undefined

  /** Reads the batches that are new, and returns the last batch before the first act that is open. */
  async function follow(): Promise<bigint> {
    let from = read_to ?? (await log.getCompleted())
    for (;;) {
      const batches = await log.listFrom(from + 1n, BATCHES_PER_READ)
      for (const { seq, records } of batches) {
        for (const record of records) {
          const { kind, audit_id } = record
          const act = open.get(audit_id)
          if (kind === 'intent')
            open.set(audit_id, { intent: record, seq, is_unknown: false, was_asked: false })
          else if (record.outcome !== 'unknown') open.delete(audit_id)
          else if (act !== undefined) open.set(audit_id, { ...act, is_unknown: true })
        }
        from = seq
      }
      read_to = from
      if (batches.length < BATCHES_PER_READ) return [...open.values()].reduce(earlier, from)
    }
  }

  /** What came of an act; `undefined` when nothing shows it. A proposal was not sent to its owner. */
  async function findOutcome(intent: IntentRecord): Promise<AuditOutcome | undefined> {
    const approval_id = await findProposal(intent)
    if (approval_id !== undefined) return { outcome: 'pending_approval', approval_id }
    const kept = await findAct(intent)
    return kept && { outcome: 'done', ...kept, added: additionTo(intent, targetsOfAct(kept)) }
  }

  async function complete(act: OpenAct, is_last: boolean): Promise<void> {
    const { audit_id, rpc } = act.intent
    const found = await findOutcome(act.intent)
    const outcome = found?.outcome ?? 'unknown'
    if (found !== undefined || !act.is_unknown) {
      await append({ kind: 'completion', audit_id, outcome, ...found })
      completed_total.increment({ outcome })
      processLog.warn(
        { kind: rpc, event: outcome },
        'an act of the audit trail had no outcome and was completed',
      )
    }
    if (found !== undefined || is_last) open.delete(audit_id)
    else open.set(audit_id, { ...act, is_unknown: true, was_asked: true })
  }

  /** Completes the acts that are due. An owner that gives no answer is not asked again in this sweep. */
  async function completeDue(): Promise<void> {
    const now = now_ms()
    const isPast = ({ intent }: OpenAct, ms: number): boolean => intent.deadline.getTime() + ms <= now
    const due = [...open.values()].filter((act) =>
      isPast(act, act.was_asked ? LAST_ASKED_AFTER_MS : COMPLETE_AFTER_MS),
    )
    const away = new Set<string>()
    let failures = 0
    const completeOne = async (act: OpenAct): Promise<void> => {
      const owner = ownerOf(act.intent)
      try {
        if (!away.has(owner)) return await complete(act, isPast(act, LAST_ASKED_AFTER_MS))
      } catch (error) {
        away.add(owner)
        processLog.warn({ error, kind: act.intent.rpc }, 'an act of the audit trail could not be completed')
      }
      failures += 1
    }
    for (let from = 0; from < due.length; from += ASKED_AT_A_TIME)
      await Promise.all(due.slice(from, from + ASKED_AT_A_TIME).map(completeOne))
    overdue_acts.set({}, failures)
  }

  async function sweep(): Promise<void> {
    const completed_to = await follow()
    await completeDue()
    await log.setCompleted(completed_to)
  }

  const timer = every(SWEEP_MS, sweep, (error) => {
    processLog.warn({ error }, 'the audit trail could not be read for acts without an outcome')
  })
  return { sweep, stop: timer.stop }
}

/** The kinds of what an act can create, by the collection of the owner. */
const KINDS: Readonly<Record<string, string>> = {
  merchants: 'merchant',
  credentials: 'application',
  routes: 'service',
  endpoints: 'endpoint',
  principals: 'principal',
  chargebacks: 'chargeback',
  attachments: 'attachment',
  replays: 'replay',
}

/** What an act has changed, by the names that its owner gives the documents: `credentials 1000017` is the application 1000017. */
function targetsOfAct({ after }: KeptAct): AuditTarget[] {
  return Object.keys(JSON.parse(after)).flatMap((name) => {
    const [collection = '', id = ''] = name.split(' ')
    const kind = KINDS[collection]
    return kind === undefined ? [] : [{ kind, id }]
  })
}

function earlier(seq: bigint, { seq: of_act }: { readonly seq: bigint }): bigint {
  return of_act <= seq ? of_act - 1n : seq
}

/** Such as `payments` of `multihub.payments.v1.PaymentService/RetryEffect`. */
function ownerOf({ rpc }: Pick<IntentRecord, 'rpc'>): string {
  return rpc.split('.')[1] ?? rpc
}
