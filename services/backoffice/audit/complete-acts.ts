import { every } from '#lib/base/time.ts'
import type { KeptAct } from '#lib/store/kept-acts.ts'
import { log as processLog } from '#lib/telemetry/log.ts'
import { counter, gauge } from '#lib/telemetry/metrics.ts'
import type { AppendRecord } from './append-records.ts'
import type { IntentRecord } from './domain/audit-record.ts'
import type { AuditLog } from './store/audit-log.ts'

/** How long after its deadline an act without an outcome is completed (O4): its process may still write the outcome. */
export const COMPLETE_AFTER_MS = 60_000

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

interface CompleteDeps {
  readonly log: Pick<AuditLog, 'listFrom' | 'getCompleted' | 'setCompleted'>
  readonly append: AppendRecord
  readonly findAct: FindAct
  readonly now_ms: () => number
}

/** An act whose outcome nobody knows. */
interface OpenAct {
  readonly intent: IntentRecord
  readonly seq: bigint
  /** Whether its process has written that it does not know the outcome, such as after a time-out of the owner. */
  readonly is_unknown: boolean
}

/**
 * Completes the acts whose process was lost before it wrote an outcome: as done when the owner has the act, else as unknown. An
 * act whose process wrote that it does not know becomes done too when the owner has it. Every process follows the whole audit trail; that a record is unique keeps them from completing an act twice.
 * `sweep` does it once; it is repeated every 10 s.
 */
export function startCompletion({ log, append, findAct, now_ms }: CompleteDeps) {
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
          if (kind === 'intent') open.set(audit_id, { intent: record, seq, is_unknown: false })
          else if (kind === 'outcome' && record.outcome === 'unknown' && act)
            open.set(audit_id, { ...act, is_unknown: true })
          else open.delete(audit_id)
        }
        from = seq
      }
      read_to = from
      if (batches.length < BATCHES_PER_READ) return [...open.values()].reduce(earlier, from)
    }
  }

  async function complete({ intent, is_unknown }: OpenAct): Promise<void> {
    const { audit_id } = intent
    const kept = await findAct(intent)
    const outcome = kept === undefined ? 'unknown' : 'done'
    if (kept !== undefined || !is_unknown) {
      await append({ kind: 'completion', audit_id, outcome, ...kept })
      completed_total.increment({ outcome })
      processLog.warn(
        { kind: intent.rpc, event: outcome },
        'an act of the audit trail had no outcome and was completed',
      )
    }
    open.delete(audit_id)
  }

  async function sweep(): Promise<void> {
    const completed_to = await follow()
    const overdue = [...open.values()].filter(
      ({ intent }) => intent.deadline.getTime() + COMPLETE_AFTER_MS <= now_ms(),
    )
    const results = await Promise.allSettled(overdue.map(complete))
    const failures = results.filter((result) => result.status === 'rejected')
    overdue_acts.set({}, failures.length)
    const [failure] = failures
    if (failure !== undefined)
      processLog.warn({ error: failure.reason }, 'acts of the audit trail could not be completed')
    await log.setCompleted(completed_to)
  }

  const timer = every(SWEEP_MS, sweep, (error) => {
    processLog.warn({ error }, 'the audit trail could not be read for acts without an outcome')
  })
  return { sweep, stop: timer.stop }
}

function earlier(seq: bigint, { seq: of_act }: { readonly seq: bigint }): bigint {
  return of_act <= seq ? of_act - 1n : seq
}
